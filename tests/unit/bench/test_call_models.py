"""The models of the call bench, and the stock wiring on them."""

import json
import time
from collections.abc import AsyncGenerator

import numpy as np
import pytest
from aiohttp.test_utils import TestClient, TestServer
from livekit.agents import inference
from livekit.plugins import openai

from bench.call.answers import LONG_INSTRUCTIONS, SHORT_INSTRUCTIONS, reply_to
from bench.call.engines import REAL, SIMULATED
from bench.call.language_model import LanguageModel
from bench.call.paced_speech import PacedEngine
from bench.stock_agent import AGENT_NAME, Models, create_server, create_session
from speech_server.tts.engine import Segment, SpeechChunk, TtsEngineInfo, Voice
from voice_agent.settings import AgentSettings

ASKED = [
    {"role": "system", "content": SHORT_INSTRUCTIONS},
    {"role": "user", "content": "Hours?"},
]
MODELS = Models("http://127.0.0.1:1", "http://127.0.0.1:2/v1", "m")


def test_answers_are_short_unless_told_otherwise() -> None:
    long = [{"role": "system", "content": f"{LONG_INSTRUCTIONS} And more."}, *ASKED[1:]]
    assert len(reply_to(ASKED).split()) < 12
    # the caller must be able to speak into it several times
    assert len(reply_to(long).split()) > 100


def test_answers_change_from_turn_to_turn() -> None:
    again = [*ASKED, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "So?"}]
    assert reply_to(ASKED) != reply_to(again)


async def test_the_model_streams_the_words_of_its_answer() -> None:
    async with TestClient(TestServer(LanguageModel(0.0, 0.0).application())) as client:
        body = {
            "messages": ASKED,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        answer = await client.post("/v1/chat/completions", json=body)
        lines = [line for line in (await answer.text()).splitlines() if line]
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == reply_to(ASKED)
    assert chunks[-1]["usage"]["completion_tokens"] == len(deltas) - 1


async def test_the_model_answers_whole_and_within_its_limit() -> None:
    async with TestClient(TestServer(LanguageModel(0.0, 0.0).application())) as client:
        answer = await client.post(
            "/v1/chat/completions", json={"messages": ASKED, "max_tokens": 1}
        )
        body = await answer.json()
    assert body["usage"]["completion_tokens"] == 1
    assert reply_to(ASKED).startswith(body["choices"][0]["message"]["content"])


async def test_the_models_pace_is_kept() -> None:
    async with TestClient(TestServer(LanguageModel(0.02, 0.001).application())) as client:
        asked_s = time.monotonic()
        answer = await client.post("/v1/chat/completions", json={"messages": ASKED})
        tokens = (await answer.json())["usage"]["completion_tokens"]
    # never sooner than its pace; how much later is the machine's affair
    assert time.monotonic() - asked_s >= 0.02 + 0.001 * (tokens - 1)


class _Instant:
    """A voice that gives everything at once."""

    info = TtsEngineInfo("instant", "instant", 24_000, (Voice("x", "en"),))

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        yield SpeechChunk(np.arange(6000, dtype=np.int16))

    async def load(self) -> None: ...

    async def close(self) -> None: ...


async def test_a_paced_voice_gives_the_same_audio_later() -> None:
    engine = PacedEngine(_Instant(), first_audio_s=0.02, speed=50.0)
    asked_s = time.monotonic()
    pieces, moments_s = [], []
    async for chunk in engine.synthesize(Segment("Hello.", "x")):
        pieces.append(chunk.pcm)
        moments_s.append(time.monotonic() - asked_s)
    assert np.array_equal(np.concatenate(pieces), np.arange(6000))
    assert len(pieces) == 3
    assert moments_s[0] >= 0.02
    assert moments_s[-1] >= 0.02 + 2 * 2048 / 24_000 / 50


def test_only_simulated_engines_are_called_so() -> None:
    assert "SIMULATED" not in REAL.description
    assert "SIMULATED" in SIMULATED.description


async def test_the_stock_wiring_is_stock_and_local() -> None:
    session = create_session(MODELS)
    assert type(session.stt) is openai.STT
    assert type(session.llm) is openai.LLM
    assert type(session.tts) is openai.TTS
    assert isinstance(session.turn_detection, inference.TurnDetector)
    assert session.options.interruption["mode"] == "vad"
    # LiveKit's own defaults, whatever they are in the pinned release
    assert session.options.endpointing["min_delay"] == pytest.approx(0.3)
    assert session.options.endpointing["max_delay"] == pytest.approx(2.5)
    await session.llm._client.close()
    await session.stt._client.close()
    await session.tts.aclose()


def test_the_stock_worker_turns_nobody_away() -> None:
    assert create_server(MODELS)._load_threshold == 1.0


def test_calls_for_the_stock_wiring_do_not_come_to_us() -> None:
    assert AgentSettings.model_fields["agent_name"].default != AGENT_NAME


def test_where_the_models_are_survives_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in MODELS.environment().items():
        monkeypatch.setenv(name, value)
    assert Models.from_environment() == MODELS
