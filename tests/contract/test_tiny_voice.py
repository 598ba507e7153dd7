"""Tokens of the tiny voice, streamed through SNAC as a call does, are read back as their words."""

import asyncio
import re
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from bench.tts.snac_work import ours
from speech_server.audio.pcm import PcmFloat, float_to_int16
from speech_server.tts.engine import Segment, WordTime
from speech_server.tts.flite import FliteEngine
from speech_server.tts.orpheus import OrpheusEngine
from speech_server.tts.orpheus_codes import (
    END_OF_SPEECH_ID,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    Frame,
    FrameAssembler,
    codes_of,
    token_ids,
)
from speech_server.tts.segmenter import Segmenter
from speech_server.tts.silence import AUDIBLE_LEVEL, SENTENCE_PAUSE_S
from speech_server.tts.snac_codec import SnacCodec
from speech_server.tts.snac_decoder import SnacDecoder, load_snac
from speech_server.tts.snac_stream import Pace, SnacStream, Window
from speech_server.tts.speech_edges import KEPT_BEHIND_S, LOWEST_LEVEL
from speech_server.tts.stream import Delivery, Reply, ReplyAudio
from tests.heard import words_heard
from tests.tiny_voice import SNAC_FOLDER, sentences
from tests.unit.speech_server.fake_voice import FakeSource

TEXTS = tuple(sentences())
WHOLE = tuple(text for text in TEXTS if not Segmenter().push(text))
"""Those that a reply does not cut at a clause: the voice was taught whole sentences."""
STEP = SAMPLE_RATE_HZ // 100
FRAME_S = FRAME_SAMPLES / SAMPLE_RATE_HZ


@pytest.fixture(scope="module")
def snac() -> SnacDecoder:
    return load_snac(SNAC_FOLDER, "cpu")


def stream_tokens(snac: SnacDecoder, frames: list[Frame], pace: Pace | None = None) -> PcmFloat:
    assembler, stream = FrameAssembler(), SnacStream(snac.decode, pace)
    heard: list[PcmFloat] = []
    for id_ in [*(id_ for frame in frames for id_ in token_ids(frame)), END_OF_SPEECH_ID]:
        heard += stream.push(assembler.push(id_))
    assert assembler.ended
    assert assembler.flush() == []
    return np.concatenate(heard + stream.flush())


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


@pytest.mark.parametrize("text", TEXTS)
def test_a_streamed_sentence_is_read_back(snac: SnacDecoder, text: str) -> None:
    audio = stream_tokens(snac, sentences()[text])
    said, heard = words(text), words_heard(float_to_int16(audio), SAMPLE_RATE_HZ)
    # The recogniser is unsure of single words of so small a voice.
    allowed = 1 if len(said) >= 4 else 0
    assert Levenshtein.distance(said, heard) <= allowed, heard


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("speed", [1.0, 1.2, 2.0, 8.0])
def test_no_frame_is_lost_and_the_rest_of_a_sentence_is_exact(
    snac: SnacDecoder, text: str, speed: float
) -> None:
    codes, pace = codes_of(sentences()[text]), Pace.for_speed(speed)
    heard, full = ours(snac, codes, pace), snac.decode(Window(codes))
    assert heard.audio.shape == full.shape == (len(codes) * FRAME_SAMPLES,)
    assert heard.opening <= 5 + len(pace.opening)
    error = np.abs(heard.audio - full)[heard.opening * FRAME_SAMPLES :]
    assert error.max(initial=0.0) <= 1e-4


@dataclass
class Spoken:
    """A sentence by the engine, and what is known of it from elsewhere."""

    pcm: np.ndarray
    """int16, (samples,), as a reply hands it out: with the pause of its end."""
    words: list[WordTime]
    aligned: list[WordTime]
    """The words in the speech that the voice was trained on, by flite's own alignment."""
    whole: np.ndarray
    """int16, (samples,): all that its codes say."""

    @property
    def cut(self) -> int:
        """Samples cut off the beginning: where the first loud tenth of a second is in the whole."""
        loud = int(np.flatnonzero(np.abs(self.pcm.astype(int)) >= 3_000)[0])
        return int(np.flatnonzero(np.abs(self.whole.astype(int)) >= 3_000)[0]) - loud


@pytest.fixture(scope="module")
def spoken(snac: SnacDecoder) -> dict[str, Spoken]:
    """Sentences, by the engine whose language model is a script."""
    return asyncio.run(speak_all(snac))


async def speak_all(snac: SnacDecoder) -> dict[str, Spoken]:
    codec, flite = SnacCodec(SNAC_FOLDER), FliteEngine()
    await codec.start()
    await flite.load()
    ids = {text: [id_ for frame in sentences()[text] for id_ in token_ids(frame)] for text in WHOLE}
    engine = OrpheusEngine(FakeSource([[*ids[text], END_OF_SPEECH_ID] for text in WHOLE]), codec)
    made = {}
    for text in WHOLE:
        reply = Reply(engine, Delivery("tara", SAMPLE_RATE_HZ), max_chars=100)
        reply.push(text)
        reply.end()
        events = [event async for event in reply.events() if isinstance(event, ReplyAudio)]
        await reply.aclose()
        async with aclosing(flite.synthesize(Segment(text, "slt"))) as chunks:
            aligned = [word async for chunk in chunks for word in chunk.words]
        made[text] = Spoken(
            np.concatenate([event.pcm for event in events]),
            [word for event in events for word in event.words],
            aligned,
            float_to_int16(snac.decode(Window(codes_of(sentences()[text])))),
        )
    await flite.close()
    await codec.close()
    return made


def loudness(pcm: np.ndarray) -> np.ndarray:
    """RMS of every 10 ms."""
    steps = pcm[: len(pcm) // STEP * STEP].astype(np.float64).reshape(-1, STEP)
    return np.sqrt((steps**2).mean(axis=1))


def test_speech_starts_at_once(spoken: dict[str, Spoken]) -> None:
    leads_s = [
        0.01 * np.flatnonzero(loudness(one.pcm) >= AUDIBLE_LEVEL)[0] for one in spoken.values()
    ]
    assert np.quantile(leads_s, 0.95) <= 0.04
    assert min(one.cut for one in spoken.values()) > 0.1 * SAMPLE_RATE_HZ


@pytest.mark.parametrize("text", WHOLE)
def test_nothing_of_the_first_word_is_cut(spoken: dict[str, Spoken], text: str) -> None:
    one = spoken[text]
    begins = round(one.aligned[0].start_s * SAMPLE_RATE_HZ)
    power = np.square(one.whole.astype(np.float64))
    before_the_cut = power[begins : max(begins, one.cut)].sum()
    assert before_the_cut <= 0.001 * power[begins : begins + SAMPLE_RATE_HZ // 10].sum()


@pytest.mark.parametrize("text", WHOLE)
def test_the_end_is_a_pause_and_no_click(spoken: dict[str, Spoken], text: str) -> None:
    pcm = spoken[text].pcm
    behind = len(pcm) - 1 - int(np.flatnonzero(np.abs(pcm.astype(int)) >= AUDIBLE_LEVEL)[-1])
    assert behind == pytest.approx(SENTENCE_PAUSE_S * SAMPLE_RATE_HZ, abs=STEP)
    # Its last sound is the word's own, fading: no click far behind it.
    steps_behind = len(pcm) / STEP - 1 - np.flatnonzero(loudness(pcm) >= LOWEST_LEVEL)[-1]
    assert 0.01 * steps_behind <= SENTENCE_PAUSE_S + KEPT_BEHIND_S


def test_word_times_are_as_far_off_as_is_stated(spoken: dict[str, Spoken]) -> None:
    off = []
    for one in spoken.values():
        cut_s = one.cut / SAMPLE_RATE_HZ
        assert [word.text for word in one.words] == [word.text for word in one.aligned]
        assert one.words[-1].end_s <= len(one.pcm) / SAMPLE_RATE_HZ
        off += [
            abs(word.start_s + cut_s - true.start_s)
            for word, true in zip(one.words, one.aligned, strict=True)
        ]
    assert np.mean(off) <= 0.07
    assert np.quantile(off, 0.95) <= 0.22
