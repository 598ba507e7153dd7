import numpy as np
import pytest

from bench.call.sayings import Saying, Sayings, saying, spread
from bench.turns.recorded_set import Utterance as RecordedTurn
from bench.turns.render import Pause
from voice_agent.caller.sound import FRAME_SAMPLES, RATE_HZ


def recorded(name: str = "x", **fields: object) -> RecordedTurn:
    """0.1 s of near silence, then speech to 0.9 s, with 15 ms after it."""
    pcm = np.full(round(0.915 * RATE_HZ), 20, np.int16)
    pcm[round(0.1 * RATE_HZ) : round(0.9 * RATE_HZ)] = 5000
    given = {"part": "tuned", "kind": "complete", "voice": "slt", **fields}
    return RecordedTurn(
        name=name,
        text="Hello.",
        words_before=(1,),
        pauses=(Pause(0.3, 0.65),),
        end_s=0.9 - 1 / RATE_HZ,
        noise_db=40.0,
        pcm=pcm,
        **given,  # type: ignore[arg-type]
    )


def test_a_saying_ends_with_the_frame_of_its_last_audible_sample() -> None:
    made = saying(recorded())
    assert made.utterance.last_audible == round(0.9 * RATE_HZ) - 1
    assert len(made.utterance.samples) == made.utterance.last_audible + 1
    assert len(made.utterance.samples) % FRAME_SAMPLES == 0
    assert made.onset_s == pytest.approx(0.1)
    assert made.pauses_s == (0.35,)


def sayings() -> list[Saying]:
    return [
        saying(recorded(kind=kind, part=part, voice=voice))
        for kind in ("complete", "hesitation")
        for part in ("tuned", "held_out")
        for voice in ("slt", "slt", "rms")
    ]


def test_a_smaller_set_has_something_of_every_kind_part_and_voice() -> None:
    few = spread(sayings(), 8)
    assert {(one.kind, one.part) for one in few[:4]} == {
        (kind, part) for kind in ("complete", "hesitation") for part in ("tuned", "held_out")
    }
    assert {one.voice for one in few} == {"slt", "rms"}


def test_nothing_is_lost_or_said_twice() -> None:
    every = sayings()
    assert {id(one) for one in spread(every, None)} == {id(one) for one in every}
    assert len(spread(every, None)) == len(every)


def test_turns_and_what_is_said_beside_them_are_chosen_apart() -> None:
    every = tuple(sayings())
    few = Sayings(every, every, every).chosen(turns=2, beside=1)
    assert (len(few.turns), len(few.interruptions), len(few.backchannels)) == (2, 1, 1)
