"""Whatever a client asks to be spoken is spoken or refused with a clear error."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from fastapi import APIRouter
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speech_server.admission import Admission
from speech_server.app import create_app
from speech_server.protocol.rest import ModelCard
from speech_server.settings import SpeechServerSettings
from speech_server.tts.speak_wire import speak_router
from speech_server.tts.speaker import Speaker
from speech_server.tts.speech_wire import speech_router
from tests.unit.speech_server.tone_engine import ToneEngine
from tests.unit.speech_server.wild_json import VALUES, messages

TEXT = st.sampled_from(("", " ", "One two.", "...", "\x00", "日本", "a" * 201, "\u202e1/2 <b>"))
NAME = st.sampled_from(("a", "alloy", "", "nobody", "x" * 129))
SPEECH = messages({
    "model": st.sampled_from(("tts-1", "", "m" * 129)),
    "input": TEXT,
    "voice": NAME | NAME.map(lambda name: {"id": name}) | st.just({"id": "a", "more": "b"}),
    "response_format": st.sampled_from(("mp3", "opus", "aac", "flac", "wav", "pcm", "ogg")),
    "speed": st.sampled_from((1, 1.0, 0.25, 4.0, 0.0, -1.0, 5.0)) | st.floats(),
    "stream_format": st.sampled_from(("audio", "sse")),
    "instructions": TEXT,
})  # fmt: skip
GENERATE = {
    "context_id": st.sampled_from(("c", "", "c" * 129)),
    "model_id": st.sampled_from(("sonic", "")),
    "transcript": TEXT,
    "voice": st.fixed_dictionaries({"mode": st.just("id"), "id": NAME | st.none()}) | VALUES,
    "output_format": st.fixed_dictionaries(
        {},
        optional={
            "container": st.sampled_from(("raw", "wav", "mp3")),
            "encoding": st.sampled_from(("pcm_s16le", "pcm_f32le", "pcm_mulaw", "pcm_alaw")),
            "sample_rate": st.sampled_from((8_000, 16_000, 44_100, 48_000, 8_001, 7_999, 10**30)),
            "bit_rate": st.sampled_from((None, 64_000, 0, -1, 1, 10**9, 2**31, 2**63, 10**30)),
        },
    ) | VALUES,
    "language": st.sampled_from(("en", "en-US", "de", "", "x" * 36)) | st.none(),
    "continue": st.booleans(),
    "flush": st.booleans(),
    "add_timestamps": st.booleans(),
    "generation_config": st.fixed_dictionaries(
        {}, optional={"speed": st.floats(), "volume": st.floats(), "emotion": VALUES}
    ) | VALUES,
    "duration": st.floats() | st.none(),
    "max_buffer_delay_ms": st.integers(-1, 5_001) | st.none(),
    "speed": st.floats() | st.text(max_size=5),
    "cancel": st.booleans(),
}  # fmt: skip
MP3 = '{"transcript":"One.","output_format":{"container":"mp3","bit_rate":%s}}'


class Speaking:
    """The role, with an engine made of tones."""

    name = "tts"

    def __init__(self) -> None:
        settings = SpeechServerSettings(tts_max_chars=200)
        speaker = Speaker(ToneEngine(), Admission("tts", 2), settings)
        self.admission = speaker.admission
        self.router = APIRouter()
        self.router.include_router(speech_router(lambda: speaker))
        self.router.include_router(speak_router(lambda: speaker))

    @property
    def model_card(self) -> ModelCard:
        return ModelCard(id="tone", created=0, task="text-to-speech")

    async def start(self) -> None: ...

    def drain(self) -> None: ...

    async def stop(self) -> None: ...


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def post(runner: asyncio.Runner, path: str, body: str) -> None:
    async def posted() -> None:
        role = Speaking()
        app = create_app(SpeechServerSettings(), [role])
        transport = httpx.ASGITransport(app)  # a fault of ours comes out of it as an exception
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
            answer = await http.post(path, content=body.encode(errors="surrogatepass"))
        assert role.admission.active == 0
        if answer.status_code == 200:
            assert answer.content
            return
        assert answer.status_code in {400, 404, 413}, answer.text
        error = answer.json()["error"]
        assert error["message"]
        assert error["code"] in {"bad_request", "not_found", "payload_too_large"}

    runner.run(posted())


@settings(max_examples=70, deadline=None)
@example('{"model":"m","input":"One.","voice":{"id":"a","id2":"b"}}')
@example('{"model":"m","input":"One.","speed":NaN}')
@given(SPEECH)
def test_any_speech_request(runner: asyncio.Runner, body: str) -> None:
    post(runner, "/v1/audio/speech", body)


@settings(max_examples=70, deadline=None)
@example(MP3 % 10**30)
@example(MP3 % -1)
@example(MP3 % 0)
@example('{"transcript":"One.","duration":1e999}')
@given(messages(GENERATE))
def test_any_request_of_the_other_dialect(runner: asyncio.Runner, body: str) -> None:
    post(runner, "/tts/bytes", body)
