"""What a rule made of a part of the recorded set, counted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.percentiles import Percentiles
from bench.turns.recorded_set import Utterance
from bench.turns.replay import Rule
from bench.turns.script import TURN_KINDS, Kind, Part
from bench.turns.trace import Trace

PARTS: Final[tuple[Part, ...]] = ("tuned", "held_out")

Heard = tuple[Utterance, Trace]


@dataclass(frozen=True, slots=True)
class Result:
    """One rule on one part."""

    rule: str
    part: Part
    turns: int
    """Utterances."""
    cut_off: int
    """Utterances in which the turn was taken before the caller's last sound."""
    cut_off_by_kind: dict[Kind, int]
    pauses_turns: int
    """Utterances with a pause in them."""
    pauses_cut_off: int
    """Of those, utterances that were cut off."""
    delay_p50_s: float | None
    """From the caller's last sound until the turn was taken: turns not cut off and not trailing."""
    delay_p95_s: float | None
    trailing_p50_s: float | None
    """The same for sentences that are left unfinished: nobody can know that they are over."""

    @property
    def cut_off_rate(self) -> float:
        """Share of the turns."""
        return self.cut_off / self.turns

    @property
    def cut_off_rate_in_pauses(self) -> float:
        """The same, in the turns that hold a pause alone."""
        return self.pauses_cut_off / self.pauses_turns


def turns_of(heard: Iterable[Heard], part: Part) -> list[Heard]:
    """What is said on the caller's go in a part."""
    return [
        (utterance, trace)
        for utterance, trace in heard
        if utterance.part == part and utterance.kind in TURN_KINDS
    ]


def evaluate(name: str, rule: Rule, part: Part, turns: Sequence[Heard]) -> Result:
    """Replay a rule over the turns of a part; there must be some."""
    outcomes = [(utterance, rule(trace)) for utterance, trace in turns]
    cut_off = [utterance.kind for utterance, outcome in outcomes if outcome.cut_off]
    delays = [
        (utterance.kind == "trailing", outcome.delay_s)
        for utterance, outcome in outcomes
        if outcome.delay_s is not None
    ]
    whole = Percentiles.of([delay_s for trailing, delay_s in delays if not trailing])
    trailing = Percentiles.of([delay_s for trailing, delay_s in delays if trailing])
    return Result(
        rule=name,
        part=part,
        turns=len(outcomes),
        cut_off=len(cut_off),
        cut_off_by_kind={kind: cut_off.count(kind) for kind in sorted(set(cut_off))},
        pauses_turns=sum(bool(utterance.pauses) for utterance, _ in outcomes),
        pauses_cut_off=sum(bool(u.pauses) and outcome.cut_off for u, outcome in outcomes),
        delay_p50_s=whole.p50 if whole else None,
        delay_p95_s=whole.p95 if whole else None,
        trailing_p50_s=trailing.p50 if trailing else None,
    )
