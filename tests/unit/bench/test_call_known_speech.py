"""Recordings that are known beforehand, recognised by their sound."""

import shutil
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import soxr

from bench.call.known_speech import Heard, KnownSpeech
from bench.call.simulated_hearing import SimulatedHearing, read_words
from bench.call.spectra import HOP_S
from bench.call.spoken_words import laid_out, spoken_words
from bench.turns import recorded_set as recorded_set_module
from bench.turns.recorded_set import Utterance, recorded_set
from bench.turns.render import RATE_HZ, Pause
from bench.turns.script import read_script
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm
from speech_server.stt.engine import Utterance as Asked
from speech_server.tts.engine import WordTime

LINES = {
    "tuned-000-complete-slt",
    "tuned-026-hesitation-en-us",
    "tuned-040-hesitation-slt",
    "tuned-040-hesitation-rms",
    "tuned-061-sentences-en-us",
    "held_out-009-question-kal",
}
UNKNOWN = "held_out-040-hesitation-awb"
"""Neither its words nor its voice are among the others."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Utterance]]:
    """Six lines of the recorded set, two of which begin with the same words by the same voice."""
    if shutil.which("flite") is None:
        pytest.skip("flite is not installed")
    lines = [line for line in read_script() if line.name in LINES | {UNKNOWN}]
    assert len(lines) == len(LINES) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded_set_module, "read_script", lambda: lines)
        yield recorded_set(tmp_path_factory.mktemp("set"))


@pytest.fixture(scope="module")
def known(recordings: list[Utterance]) -> list[Utterance]:
    return [one for one in recordings if one.name != UNKNOWN]


@pytest.fixture(scope="module")
def speech(known: list[Utterance]) -> KnownSpeech:
    pauses = [[(pause.start_s, pause.end_s) for pause in one.pauses] for one in known]
    return KnownSpeech([sound(one) for one in known], pauses)


def sound(utterance: Utterance) -> Pcm:
    pcm = utterance.pcm.astype(np.float32) / 2**15
    resampled: Pcm = soxr.resample(pcm, RATE_HZ, SAMPLE_RATE_HZ).astype(np.float32)
    return resampled


def on_the_line(pcm: Pcm, before_s: float = 0.1) -> Pcm:
    """Quieter, noisier, and not in step with the recording's spectra."""
    noise = np.random.default_rng(3).normal(0.0, 0.0005, len(pcm) + round(before_s * 16_000))
    heard = noise.astype(np.float32)
    heard[-len(pcm) :] += 0.8 * pcm
    return heard


def test_whole_recordings_are_told_from_their_neighbours(
    known: list[Utterance], speech: KnownSpeech
) -> None:
    for index, one in enumerate(known):
        for before_s in (0.0, 0.033, 0.107, 0.3):
            (heard,) = speech.recognise(on_the_line(sound(one), before_s))
            assert heard.recording == index, one.name
            assert heard.start_s == 0
            assert heard.end_s == pytest.approx(one.end_s, abs=0.1), one.name


def test_it_is_told_how_far_a_recording_was_spoken(
    known: list[Utterance], speech: KnownSpeech
) -> None:
    for one in known:
        for until_s in (0.6, 0.9, 1.3):
            spoken = on_the_line(sound(one)[: round(until_s * SAMPLE_RATE_HZ)])
            (heard,) = speech.recognise(spoken)
            paused = [p for p in one.pauses if p.start_s < until_s < p.end_s + HOP_S]
            expected_s = paused[0].start_s if paused else min(until_s, one.end_s)
            assert heard.end_s == pytest.approx(expected_s, abs=0.1), (one.name, until_s)


def test_a_pause_may_have_been_left_out(known: list[Utterance], speech: KnownSpeech) -> None:
    index, one = next((i, one) for i, one in enumerate(known) if "040-hesitation-slt" in one.name)
    pcm = sound(one)
    for pause in reversed(one.pauses):
        begin, end = (round(at * SAMPLE_RATE_HZ) for at in (pause.start_s + 0.1, pause.end_s))
        pcm = np.delete(pcm, np.s_[begin : end - 1600])
    (heard,) = speech.recognise(on_the_line(pcm))
    assert heard.recording == index
    assert heard.end_s == pytest.approx(one.end_s, abs=0.1)


def test_the_rest_of_a_recording_is_recognised(known: list[Utterance], speech: KnownSpeech) -> None:
    for index, one in enumerate(known):
        (heard,) = speech.recognise(on_the_line(sound(one)[round(1.2 * SAMPLE_RATE_HZ) :]))
        assert heard.recording == index
        assert heard.start_s == pytest.approx(1.2, abs=0.1)
        assert heard.end_s == pytest.approx(one.end_s, abs=0.1)


def test_two_recordings_follow_one_another(known: list[Utterance], speech: KnownSpeech) -> None:
    both = np.concatenate((sound(known[2]), np.zeros(3200, np.float32), sound(known[0])))
    assert [heard.recording for heard in speech.recognise(on_the_line(both))] == [2, 0]


def test_nothing_is_made_of_what_is_not_known(
    recordings: list[Utterance], speech: KnownSpeech
) -> None:
    stranger = next(one for one in recordings if one.name == UNKNOWN)
    noise = np.random.default_rng(0).normal(0.0, 0.1, 2 * SAMPLE_RATE_HZ).astype(np.float32)
    hum: Pcm = (0.1 * np.sin(np.arange(SAMPLE_RATE_HZ))).astype(np.float32)
    for pcm in (sound(stranger), noise, hum, np.zeros(16_000, np.float32), noise[:0], noise[:9]):
        assert speech.recognise(pcm) == []


async def test_words_are_laid_between_the_pauses(known: list[Utterance]) -> None:
    for one, words in zip(known, await spoken_words(known), strict=True):
        assert " ".join(word.text for word in words) == one.text
        for word, following in pairwise(words):
            assert word.start_s <= word.end_s <= following.start_s + 0.01, one.name
        for before, pause in zip(one.words_before, one.pauses, strict=True):
            assert words[before - 1].end_s <= pause.start_s + 1e-6
            assert words[before].start_s >= pause.end_s - 1e-6
        assert words[-1].end_s == pytest.approx(one.end_s, abs=0.1)


def test_a_stretch_without_times_is_shared_out_by_letters() -> None:
    made = Utterance(
        name="x",
        part="tuned",
        kind="hesitation",
        voice="slt",
        text="It is about Monday.",
        words_before=(2,),
        pauses=(Pause(0.415, 0.8),),
        end_s=1.8,
        noise_db=55.0,
        pcm=np.zeros(1, np.int16),
    )
    words = laid_out(made, {2: (0.5, 0.7), 3: (0.7, 1.5)})
    assert [(w.start_s, w.end_s) for w in words] == [
        pytest.approx(span) for span in ((0.015, 0.215), (0.215, 0.415), (0.8, 1.0), (1.0, 1.8))
    ]


async def test_the_engine_reads_the_words_spoken_so_far(known: list[Utterance]) -> None:
    engine = SimulatedHearing(known, await spoken_words(known), call_s=0.0)
    with pytest.raises(RuntimeError, match="not loaded"):
        engine.transcribe([Asked(np.zeros(1, np.float32))])
    engine.load()
    one = next(one for one in known if one.name == "tuned-026-hesitation-en-us")
    pause = one.pauses[0]
    begun = sound(one)[: round((pause.start_s + 0.06) * SAMPLE_RATE_HZ)]
    whole, part, nothing = (
        result.text if not isinstance(result, Exception) else str(result)
        for result in engine.transcribe(
            [Asked(on_the_line(pcm)) for pcm in (sound(one), begun, np.zeros(9000, np.float32))]
        )
    )
    assert whole == "I would like to book an appointment for next week."
    # as a recogniser would put it: the mark does not tell whether more follows
    assert part == "I would like to."
    assert nothing == ""


def test_the_mark_after_the_words_is_that_of_their_sentence() -> None:
    text = "Yes, please. Can you come"
    words = [WordTime(word, at, at + 1.0) for at, word in enumerate(text.split())]
    heard = [(0.0, 1.0), (0.0, 3.0), (2.0, 3.0), (2.0, 9.0), (7.0, 9.0)]
    assert [read_words(words, Heard(0, *span)) for span in heard] == [
        "Yes.",
        "Yes, please. Can.",
        "Can.",
        "Can you come.",
        "",
    ]
