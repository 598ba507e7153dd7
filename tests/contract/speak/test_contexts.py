"""Contexts of the Cartesia dialect over a real socket: text in, audio and word times out.

The messages of `livekit` and `pipecat` below are those of livekit-plugins-cartesia 1.8.9 and of
pipecat-ai 1.14.0 as they build them; only the voice is ours.
"""

import base64
import io
from typing import Any

import av
import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect

from speech_server.audio.pcm import mulaw_to_int16
from tests.contract.speak.speak_client import (
    TEXT,
    audio,
    generate,
    receive,
    send,
    still_alive,
    until_done,
)
from tests.heard import share_heard, words_heard
from tests.speech_server_process import SpeechServer


async def test_livekit_client(speech_server: SpeechServer) -> None:
    url = f"{speech_server.ws_url}/tts/websocket?cartesia_version=2025-04-16"
    base = {
        "model_id": "sonic-3",
        "voice": {"mode": "id", "id": "slt"},
        "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24_000},
        "language": "en",
        "generation_config": {"speed": 1.0, "emotion": "positivity", "volume": 1.0},
        "add_timestamps": True,
        "add_phoneme_timestamps": True,
        "use_normalized_timestamps": True,
        "pronunciation_dict_id": "none",
        "max_buffer_delay_ms": 0,
        "context_id": "abc",
    }
    async with connect(url, additional_headers={"X-API-Key": "key"}) as ws:
        for sentence in ("Of course, I can help you with that. ", "It is on Tuesday. "):
            await send(ws, base | {"transcript": sentence, "continue": True})
        await send(ws, base | {"transcript": " ", "continue": False})
        messages = await until_done(ws, "abc")
    assert messages[-1]["type"] == "done"
    said = "Of course I can help you with that It is on Tuesday"
    assert share_heard(said, audio(messages), 24_000) >= 0.7
    words = [
        w for m in messages if m["type"] == "timestamps" for w in m["word_timestamps"]["words"]
    ]
    assert words == [
        "Of", "course,", "I", "can", "help", "you", "with", "that.", "It", "is", "on", "Tuesday.",
    ]  # fmt: skip


async def test_pipecat_client(speech_server: SpeechServer) -> None:
    headers = {"X-API-Key": "key", "Cartesia-Version": "2026-03-01"}
    base = {
        "context_id": "turn-1",
        "model_id": "sonic-3.6",
        "voice": {"mode": "id", "id": "rms"},
        "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 16_000},
        "add_timestamps": True,
        "use_normalized_timestamps": False,
        "max_buffer_delay_ms": 0,
        "language": "en",
    }
    url = f"{speech_server.ws_url}/tts/websocket"
    async with connect(url, additional_headers=headers) as ws:
        await send(ws, base | {"transcript": TEXT, "continue": True})
        await send(ws, base | {"transcript": "", "continue": False})
        messages = await until_done(ws, "turn-1")
        assert share_heard(TEXT, audio(messages), 16_000) >= 0.7
        # An interruption that comes when the context is over already.
        await send(ws, {"context_id": "turn-1", "cancel": True})
        assert (await receive(ws))["type"] == "done"


async def test_text_token_by_token(ws: ClientConnection) -> None:
    for start in range(0, len(TEXT), 3):
        await send(ws, generate("a", TEXT[start : start + 3], **{"continue": True}))
    # The first clause is spoken while the context is still open.
    first = await receive(ws)
    assert first["type"] == "chunk"
    await send(ws, generate("a", ""))
    messages = [first, *await until_done(ws, "a")]
    assert share_heard(TEXT, audio(messages), 24_000) >= 0.7


async def test_word_times_are_those_of_the_audio(ws: ClientConnection) -> None:
    await send(ws, generate("a", "Wait. It is at 15:30, **really**!", add_timestamps=True))
    messages = await until_done(ws, "a")
    times = [m["word_timestamps"] for m in messages if m["type"] == "timestamps"]
    words = [word for t in times for word in t["words"]]
    start = [value for t in times for value in t["start"]]
    end = [value for t in times for value in t["end"]]
    assert words == ["Wait.", "It", "is", "at", "15:30,", "really!"]
    assert start == sorted(start)
    assert all(0 <= s < e for s, e in zip(start, end, strict=True))
    pcm = audio(messages)
    assert end[-1] <= len(pcm) / 24_000
    # The times cut out exactly the words they claim.
    at, to = words.index("15:30,"), words.index("15:30,")
    piece = pcm[round(start[at] * 24_000) : round(end[to] * 24_000)]
    heard = words_heard(piece, 24_000)
    assert set(heard) & {"fifteen", "thirty", "15", "30", "1530"}
    assert not set(heard) & {"wait", "really"}
    # Between two sentences there is silence.
    pause = pcm[round((end[0] + 0.02) * 24_000) : round((start[1] - 0.02) * 24_000)]
    assert np.abs(pause.astype(int)).max() < 2_000


async def test_flush_is_answered_after_its_audio(ws: ClientConnection) -> None:
    await send(ws, generate("a", "This has no end", **{"continue": True, "flush": True}))
    messages = [await receive(ws)]
    while messages[-1]["type"] != "flush_done":
        messages.append(await receive(ws))
    assert messages[-1]["flush_id"] == 1
    assert share_heard("this has no end", audio(messages), 24_000) >= 0.7
    await send(ws, generate("a", ""))
    assert (await until_done(ws, "a"))[-1]["type"] == "done"


async def test_text_that_waits_is_spoken_after_the_buffer_delay(ws: ClientConnection) -> None:
    await send(ws, generate("a", "no end", **{"continue": True, "max_buffer_delay_ms": 50}))
    assert (await receive(ws))["type"] == "chunk"
    await send(ws, {"context_id": "a", "cancel": True})
    await until_done(ws, "a")


async def test_contexts_share_a_socket(ws: ClientConnection) -> None:
    said = {"a": "Good morning, this is the first one.", "b": "I can help you with that."}
    for context_id, voice in (("a", "slt"), ("b", "rms")):
        await send(ws, generate(context_id, said[context_id], voice={"mode": "id", "id": voice}))
    messages: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    while not all(got and got[-1]["done"] for got in messages.values()):
        message = await receive(ws)
        messages[message["context_id"]].append(message)
    for context_id, got in messages.items():
        assert share_heard(said[context_id], audio(got), 24_000) >= 0.7


async def test_cancel_stops_the_audio(ws: ClientConnection) -> None:
    await send(ws, generate("a", "word " * 800))
    assert (await receive(ws))["type"] == "chunk"
    await send(ws, {"context_id": "a", "cancel": True})
    messages = await until_done(ws, "a")
    assert messages[-1]["type"] == "done"
    # 800 words last over 200 s; what was on its way when the cancel came is a few of them.
    assert len(audio(messages)) < 60 * 24_000
    await still_alive(ws)


@pytest.mark.parametrize("encoding", ["pcm_f32le", "pcm_mulaw", "pcm_alaw"])
async def test_encodings(ws: ClientConnection, encoding: str) -> None:
    form = {"container": "raw", "encoding": encoding, "sample_rate": 8_000}
    await send(ws, generate("a", TEXT, output_format=form))
    messages = await until_done(ws, "a")
    data = b"".join(base64.b64decode(m["data"]) for m in messages if m["type"] == "chunk")
    if encoding == "pcm_f32le":
        pcm = (np.frombuffer(data, "<f4") * 32767).astype(np.int16)
    elif encoding == "pcm_mulaw":
        pcm = mulaw_to_int16(data)
    else:
        with av.open(io.BytesIO(data), format="alaw", options={"sample_rate": "8000"}) as file:
            pcm = np.concatenate([frame.to_ndarray()[0] for frame in file.decode(audio=0)])
    assert share_heard(TEXT, pcm, 8_000) >= 0.7


@pytest.mark.parametrize("text", ["", " ", "...?!", "😀🎉", "<|im_end|>"])
async def test_nothing_to_say_is_done_without_audio(ws: ClientConnection, text: str) -> None:
    await send(ws, generate("a", text))
    messages = await until_done(ws, "a")
    assert [message["type"] for message in messages] == ["done"]


async def test_control_tokens_are_not_spoken(ws: ClientConnection) -> None:
    plain = "Good morning, how are you?"
    dirty = "<|im_start|>Good morning,<custom_token_9> how <laugh> **are** you? 😀<|im_end|>"
    await send(ws, generate("plain", plain))
    wanted = audio(await until_done(ws, "plain"))
    await send(ws, generate("dirty", dirty))
    got = audio(await until_done(ws, "dirty"))
    assert abs(len(got) - len(wanted)) < 0.3 * 24_000
