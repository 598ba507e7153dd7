"""Made-up telephone calls for tests."""

import math

import numpy as np

from bench.phone.glitches import Glitch
from bench.phone.leftovers import Held
from bench.phone.records import BROWSER, PHONE, Listened, PathTurn, PhoneCall, Series, Step
from bench.phone.report import Report
from bench.phone.telephone import PACKET_S, PACKET_SAMPLES, Heard
from voice_agent.caller.sound import Pcm16


def turn(
    path: str = PHONE,
    voice_to_voice_s: float | None = 0.5,
    *,
    name: str = "one",
    said: str = "what are your hours",
    understood: str = "what are your hours",
    conversation: bool = True,
    late_s: float = 0.0,
) -> PathTurn:
    """A turn with the given outcome."""
    return PathTurn(
        path=path,
        name=name,
        conversation=conversation,
        said=said,
        understood=understood,
        voice_to_voice_s=voice_to_voice_s,
        cut_off=voice_to_voice_s is None,
        caller_late_s=late_s,
        stages=None,
    )


def call(first_word_s: float | None = 0.9, *, failure: str = "", lost: int = 0) -> PhoneCall:
    """A call whose first word came then."""
    answer_s = None if first_word_s is None else first_word_s - 0.3
    return PhoneCall(
        "id", answer_s, first_word_s, failure, sent=500, received=490, lost=lost, sent_lost=1
    )


def measured() -> Report:
    """A whole run; a lost turn, a lost packet here and there, and a gap in one of two calls."""
    report = Report({"load_average_before": (0.2, 0.1, 0.1)})
    report.turns = [
        turn(voice_to_voice_s=0.5),
        turn(BROWSER, 0.44),
        turn(voice_to_voice_s=0.7, name="two", understood="what are your powers"),
        turn(BROWSER, 0.66, name="two"),
        turn(voice_to_voice_s=math.inf, name="three", conversation=False),
        turn(BROWSER, None, name="three", conversation=False),
    ]
    report.calls = [call(1.0)]
    report.in_a_row = Series([call(0.8), call(0.9, lost=2)], Held(files=1))
    report.at_once = Series([call(1.4), call(None, failure="refused: 486 Busy Here")], Held())
    gap = Listened(call(), 0.6, [Glitch(1.2, 0.04), Glitch(3.0, None)], [0.02])
    report.steps = [
        Step(1, [Listened(call(), 0.5)] * 2),
        Step(2, [Listened(call(), 0.5), gap]),
        Step(2, [Listened(call(), 0.6), gap]),
    ]
    return report


def speech(length_s: float, seed: int = 0) -> Pcm16:
    """Something that is nowhere like itself: loud noise, 8 kHz."""
    noise = np.random.default_rng(seed).normal(0, 4000, round(length_s * 8000))
    return noise.clip(-20_000, 20_000).astype(np.int16)


def arriving(pcm: Pcm16, late_s: dict[int, float] | None = None) -> list[Heard]:
    """Packets of a track, each in its time or, by its number, later."""
    late = late_s or {}
    return [
        Heard(
            100.0 + index * PACKET_S + late.get(index, 0.0),
            index * PACKET_SAMPLES,
            pcm[index * PACKET_SAMPLES : (index + 1) * PACKET_SAMPLES],
        )
        for index in range(len(pcm) // PACKET_SAMPLES)
    ]
