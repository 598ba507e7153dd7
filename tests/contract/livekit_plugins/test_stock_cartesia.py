"""LiveKit's `cartesia` plugin, unmodified, pointed at the speech server by its URL alone."""

import asyncio

import aiohttp
import numpy as np
import numpy.typing as npt
import pytest
from livekit import rtc
from livekit.agents import APIConnectOptions, APIError, APIStatusError
from livekit.agents.tts import SynthesizeStream
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT
from livekit.agents.voice.io import TimedString
from livekit.plugins import cartesia

from tests.heard import share_heard
from tests.speech_server_process import SpeechServer

ANSWER = "We are open from nine to five. On Sundays, we are closed."
OFFER = "Anything else?"
ONCE = APIConnectOptions(max_retry=0, timeout=5.0)


def plugin(server: SpeechServer, http: aiohttp.ClientSession, **options: object) -> cartesia.TTS:
    options = {"api_key": server.api_key} | options
    return cartesia.TTS(base_url=server.url, http_session=http, **options)


def samples(frames: list[rtc.AudioFrame]) -> npt.NDArray[np.int16]:
    return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in frames])


async def spoken(stream: SynthesizeStream, text: str) -> list[rtc.AudioFrame]:
    """Push a text as a language model writes it, and collect what is spoken."""
    for word in text.split(" "):
        stream.push_text(f"{word} ")
    stream.end_input()
    async with asyncio.timeout(30):
        return [event.frame async for event in stream]


async def test_replies_with_word_times(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    tts = plugin(keyed_speech_server, http)
    for text in (ANSWER, OFFER):  # both over one socket of the plugin's pool
        async with tts.stream(conn_options=ONCE) as stream:
            frames = await spoken(stream, text)
        audio = samples(frames)
        assert share_heard(text, audio, frames[0].sample_rate) == 1.0
        words: list[TimedString] = [
            word for frame in frames for word in frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, [])
        ]
        assert "".join(words) == text
        times_s = [word.start_time for word in words] + [words[-1].end_time]
        assert times_s == sorted(times_s)
        assert 0.8 * len(audio) / 24_000 < times_s[-1] <= len(audio) / 24_000
    await tts.aclose()


@pytest.mark.parametrize("sample_rate", [8_000, 16_000, 24_000, 44_100])
async def test_a_whole_text(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession, sample_rate: int
) -> None:
    tts = plugin(keyed_speech_server, http, sample_rate=sample_rate)
    async with tts.synthesize(ANSWER, conn_options=ONCE) as stream:
        audio = await stream.collect()
    assert audio.sample_rate == sample_rate
    # At 8 kHz a consonant may go missing, which is the telephone's doing.
    assert share_heard(ANSWER, samples([audio]), sample_rate) >= 0.9
    await tts.aclose()


async def test_speed_and_volume(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    loudness, length = {}, {}
    for volume, speed in [(1.0, 1.0), (0.5, 2.0)]:
        tts = plugin(keyed_speech_server, http, volume=volume, speed=speed, emotion="calm")
        async with tts.stream(conn_options=ONCE) as stream:
            audio = samples(await spoken(stream, OFFER))
        loudness[volume] = float(np.sqrt(np.mean(audio.astype(float) ** 2)))
        length[speed] = len(audio)
        await tts.aclose()
    assert loudness[0.5] == pytest.approx(0.5 * loudness[1.0], rel=0.15)
    assert length[2.0] < 0.7 * length[1.0]


async def test_an_interruption_reaches_the_engine(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    """The plugin sends no cancel; it closes the interrupted reply's socket before its next one."""
    tts = plugin(keyed_speech_server, http)
    interrupted = tts.stream(conn_options=ONCE)
    interrupted.push_text("word " * 800)
    interrupted.end_input()
    async with asyncio.timeout(30):
        await anext(interrupted)
    await interrupted.aclose()
    async with tts.stream(conn_options=ONCE) as stream:
        audio = samples(await spoken(stream, OFFER))
    assert share_heard(OFFER, audio, 24_000) == 1.0
    active = 'speech_streams_active{service="tts"} 0.0'
    while active not in await (await http.get(f"{keyed_speech_server.url}/metrics")).text():
        pass  # the answer of /metrics is what is waited for
    # It ended because the client went, not because nobody read it for too long.
    assert not any("stopped reading" in line for line in keyed_speech_server.log)
    await tts.aclose()


@pytest.mark.parametrize(
    ("options", "status"), [({"voice": "nobody"}, 404), ({"api_key": "wrong"}, 401)]
)
async def test_a_refusal_is_seen_as_one(
    keyed_speech_server: SpeechServer,
    http: aiohttp.ClientSession,
    options: dict[str, object],
    status: int,
) -> None:
    tts = plugin(keyed_speech_server, http, **options)
    with pytest.raises(APIStatusError) as caught:
        async with tts.synthesize(OFFER, conn_options=ONCE) as whole:
            await whole.collect()
    assert caught.value.status_code == status
    assert not caught.value.retryable
    with pytest.raises(APIError):
        async with tts.stream(conn_options=ONCE) as stream:
            await spoken(stream, OFFER)
    await tts.aclose()
