"""What the Cartesia dialect refuses, and that the connection outlives it."""

import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.contract.speak.speak_client import (
    TEXT,
    audio,
    generate,
    receive,
    send,
    still_alive,
    until_done,
)
from tests.heard import share_heard
from tests.speech_server_process import speech_server_process

_BAD = [
    ("{", 400, None, "not JSON"),
    ("[]", 400, None, "JSON object"),
    ("[" * 100_000, 400, None, "not JSON"),
    (b"\x00\x01", 400, None, "binary"),
    (generate(None, "Hi."), 400, None, "context_id"),
    (generate("", "Hi."), 400, None, "context_id"),
    (generate("x" * 200, "Hi."), 400, None, "context_id"),
    (generate("a", 5), 400, "a", "transcript"),
    (generate("a", "Hi.", colour="red"), 400, "a", "colour"),
    (generate("a", "Hi.", **{"continue": "yes"}), 400, "a", "continue"),
    (generate("a", "Hi.", voice={"id": "nobody"}), 404, "a", "no such voice"),
    (generate("a", "Hi.", voice={"mode": "embedding", "id": "slt"}), 400, "a", "voice"),
    (generate("a", "Hi.", language="de"), 400, "a", "speak"),
    (generate("a", "Hi.", output_format={"container": "mp3"}), 400, "a", "raw audio only"),
    (generate("a", "Hi.", output_format={"sample_rate": 1}), 400, "a", "sample_rate"),
    (generate("a", "Hi.", max_buffer_delay_ms=9_999), 400, "a", "max_buffer_delay_ms"),
    (generate("a", "Hi.", generation_config={"speed": 99}), 400, "a", "speed"),
    (generate("a", "x" * 4_097), 413, "a", "limited to 4096"),
    (generate("a", "x" * 100_000), 413, "a", "limited to 4096"),
    ({"context_id": "a", "cancel": False}, 400, "a", "cancel"),
    ({"context_id": "a", "cancel": True, "more": 1}, 400, "a", "more"),
]


@pytest.mark.parametrize(("message", "status", "context_id", "text"), _BAD)
async def test_bad_messages_are_explained_and_the_connection_lives(
    ws: ClientConnection, message: object, status: int, context_id: str | None, text: str
) -> None:
    await ws.send(message if isinstance(message, str | bytes) else json.dumps(message))
    error = await receive(ws)
    assert error["type"] == "error"
    assert error["status_code"] == status
    assert error.get("context_id") == context_id
    assert text in error["error"]
    assert error["retryable"] is False
    await still_alive(ws)


async def test_a_bad_message_ends_only_its_context(ws: ClientConnection) -> None:
    await send(ws, generate("good", TEXT, **{"continue": True}))
    await send(ws, generate("bad", TEXT, **{"continue": True}))
    await send(ws, generate("bad", "more", **{"continue": True, "colour": "red"}))
    await send(ws, generate("good", ""))
    messages: dict[str, list[dict[str, Any]]] = {"good": [], "bad": []}
    while not all(got and got[-1]["done"] for got in messages.values()):
        message = await receive(ws)
        messages[message["context_id"]].append(message)
    assert messages["bad"][-1]["type"] == "error"
    assert messages["good"][-1]["type"] == "done"
    assert share_heard(TEXT, audio(messages["good"]), 24_000) >= 0.7


async def test_a_context_keeps_its_voice_and_its_end(ws: ClientConnection) -> None:
    await send(ws, generate("a", "Hello ", **{"continue": True}))
    await send(ws, generate("a", "there.", **{"continue": True, "voice": {"id": "rms"}}))
    error = (await until_done(ws, "a"))[-1]
    assert (error["type"], error["status_code"]) == ("error", 400)
    assert "voice: cannot change" in error["error"]
    await send(ws, generate("b", "word " * 800))
    await send(ws, generate("b", "more"))
    error = (await until_done(ws, "b"))[-1]
    assert "no text may follow" in error["error"]
    await still_alive(ws)


async def test_api_key_is_asked_for() -> None:
    with speech_server_process(roles=("tts",), speech_api_key="secret") as server:
        url = f"{server.ws_url}/tts/websocket"
        with pytest.raises(Exception, match="401"):
            await connect(url)
        async with connect(url, additional_headers={"X-API-Key": "secret"}) as ws:
            await still_alive(ws)
