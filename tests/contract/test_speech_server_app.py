import json
import os
import subprocess
import sys
from collections.abc import Iterator, MutableMapping
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from speech_server.app import create_app
from speech_server.settings import SpeechServerSettings
from speech_server.stt.service import SttService
from speech_server.tts.service import TtsService
from tests.listen_client import listening
from tests.speech_server_process import SpeechServer, speech_server_process

KEY = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def locked_server() -> Iterator[SpeechServer]:
    """A server that demands a key."""
    with speech_server_process(("stt",), speech_api_key=KEY) as server:
        yield server


def get(server: SpeechServer, path: str, **headers: str) -> httpx.Response:
    return httpx.get(server.url + path, headers=headers, timeout=30)


def test_health_and_ready_name_the_roles(speech_server: SpeechServer) -> None:
    for path in ("/health", "/ready"):
        answer = get(speech_server, path)
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok", "roles": {"stt": "ready", "tts": "ready"}}


def test_models_of_both_roles_are_listed(speech_server: SpeechServer) -> None:
    models = get(speech_server, "/v1/models").json()
    assert models["object"] == "list"
    tasks = {model["task"] for model in models["data"]}
    assert tasks == {"automatic-speech-recognition", "text-to-speech"}
    for model in models["data"]:
        assert get(speech_server, f"/v1/models/{model['id']}").json() == model
        assert model["created"] > 1_600_000_000


def test_a_model_that_is_not_there_is_told_with_those_that_are(
    speech_server: SpeechServer,
) -> None:
    answer = get(speech_server, "/v1/models/nova-3")
    assert answer.status_code == 404
    assert "moonshine-tiny-en" in answer.json()["error"]["message"]


def test_metrics_tell_capacity(speech_server: SpeechServer) -> None:
    text = get(speech_server, "/metrics").text
    assert 'speech_streams_capacity{service="stt"} 16.0' in text
    assert 'speech_streams_active{service="stt"} 0.0' in text


async def test_metrics_count_the_work_of_a_stream(speech_server: SpeechServer) -> None:
    def finals() -> float:
        text = get(speech_server, "/metrics").text
        (line,) = (x for x in text.splitlines() if x.startswith('speech_ttfb_seconds_count{serv'
                                                               'ice="stt"}'))  # fmt: skip
        return float(line.rsplit(" ", 1)[1])

    async with listening(speech_server) as client:
        await client.send({"type": "Finalize"})
        await client.next(from_finalize=True)
        before = finals()
        await client.send({"type": "Finalize"})
        await client.next(from_finalize=True)
    assert finals() == before + 1


def test_only_health_and_metrics_are_open_without_the_key(locked_server: SpeechServer) -> None:
    for path in ("/health", "/ready", "/metrics"):
        assert get(locked_server, path).status_code == 200
    for headers in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": KEY + "x"}):
        answer = get(locked_server, "/v1/models", **headers)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "unauthorized"


@pytest.mark.parametrize(
    "headers",
    [{"authorization": f"Bearer {KEY}"}, {"authorization": f"Token {KEY}"}, {"x-api-key": KEY}],
)
async def test_each_dialect_may_bring_its_key_its_own_way(
    locked_server: SpeechServer, headers: dict[str, str]
) -> None:
    assert get(locked_server, "/v1/models", **headers).status_code == 200
    async with listening(locked_server, headers=headers) as client:
        assert await client.end() == 1000


@pytest.mark.parametrize("path", ["/v1/listen?encoding=linear16&sample_rate=16000", "/elsewhere"])
async def test_a_stream_without_the_key_is_answered_401(
    locked_server: SpeechServer, path: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(locked_server.ws_url + path)
    answer = refused.value.response
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert json.loads(answer.body)["error"]["code"] == "unauthorized"


@pytest.mark.parametrize(
    "path", ["/v1/listen?encoding=linear16&sample_rate=16000", "/tts/websocket"]
)
async def test_a_stream_is_told_to_come_back_while_the_engine_loads(path: str) -> None:
    # The application without its life cycle: its engines are never loaded.
    settings = SpeechServerSettings()
    app = create_app(settings, [SttService(settings), TtsService(settings)])
    route, _, query = path.partition("?")
    scope = {
        "type": "websocket", "path": route, "raw_path": route.encode(), "query_string":
        query.encode(), "headers": [], "subprotocols": [], "scheme": "ws", "root_path": "",
        "asgi": {"version": "3.0"}, "extensions": {"websocket.http.response": {}},
    }  # fmt: skip
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, body = sent
    assert start["type"] == "websocket.http.response.start"
    assert start["status"] == 429
    assert dict(start["headers"])[b"retry-after"] == b"1"
    assert json.loads(body["body"])["error"]["code"] == "overloaded"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"stt_engine": "whisper2"}, ["PARLEY_STT_ENGINE: Input should be"]),
        (
            {"stt_capacity_streams": "many", "tts_max_chars": "0"},
            ["PARLEY_STT_CAPACITY_STREAMS: ", "PARLEY_TTS_MAX_CHARS: "],
        ),
        ({"tts_engine": "orpheus"}, ["PARLEY_TTS_ENGINE=orpheus needs PARLEY_TTS_MODEL"]),
    ],
)
def test_a_setting_that_will_not_do_is_named_in_one_line(
    settings: dict[str, str], said: list[str]
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    environment |= {f"PARLEY_{name.upper()}": value for name, value in settings.items()}
    ended = subprocess.run(
        [sys.executable, "-m", "speech_server"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    lines = ended.stderr.splitlines()
    assert len(lines) == len(said)
    for line, start in zip(lines, said, strict=True):
        assert line.startswith(f"speech server: {start}")


async def test_sigterm_ends_the_process_and_its_streams() -> None:
    with speech_server_process(("stt",)) as server:
        async with listening(server) as client:
            await client.send({"type": "Finalize"})
            await client.next(from_finalize=True)
            server.process.terminate()
            assert await client.closed() in {1001, 1012}
        assert server.process.wait(20) in {0, -15}
        assert not any("Traceback" in line for line in server.log), "".join(server.log)


async def test_an_unknown_path_is_no_stream(speech_server: SpeechServer) -> None:
    assert get(speech_server, "/v2/listen").status_code == 404
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"{speech_server.ws_url}/v2/listen")
    assert refused.value.response.status_code in {403, 404}
    assert json.loads(get(speech_server, "/health").text)["status"] == "ok"
