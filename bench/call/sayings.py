"""What the bench's callers say: the recorded set of turns, made ready for a microphone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

from bench.turns.recorded_set import Utterance as RecordedTurn
from bench.turns.recorded_set import recorded_set
from bench.turns.script import TURN_KINDS
from voice_agent.caller.sound import FRAME_SAMPLES, RATE_HZ, audible_indices
from voice_agent.caller.wav import Utterance

UNFINISHED: Final = "trailing"
"""Kind of turns that the caller leaves unfinished: waiting is right there."""


@dataclass(frozen=True, eq=False)
class Saying:
    """One thing that a caller says."""

    part: str
    """`tuned`, or `held_out`: never looked at while the end of turn was tuned."""
    kind: str
    voice: str
    pauses_s: tuple[float, ...]
    """Pauses inside it."""
    onset_s: float
    """First audible sample, seconds from the first one."""
    utterance: Utterance


@dataclass(frozen=True)
class Sayings:
    """Everything that the callers say."""

    turns: tuple[Saying, ...]
    interruptions: tuple[Saying, ...]
    backchannels: tuple[Saying, ...]

    def chosen(self, turns: int | None, beside: int | None) -> "Sayings":
        """A smaller set that has something of every part and kind.

        Args:
            turns: how many turns; None: all.
            beside: how many interruptions, and how many back-channels; None: all.
        """
        return Sayings(
            spread(self.turns, turns),
            spread(self.interruptions, beside),
            spread(self.backchannels, beside),
        )


def load_sayings(cache: Path) -> Sayings:
    """The recorded set of `bench/turns`, rendered on first use.

    Raises:
        EngineFailed: flite is not installed.
    """
    every = [saying(recorded) for recorded in recorded_set(cache)]
    return Sayings(
        turns=tuple(one for one in every if one.kind in TURN_KINDS),
        interruptions=tuple(one for one in every if one.kind == "interruption"),
        backchannels=tuple(one for one in every if one.kind == "backchannel"),
    )


def saying(recorded: RecordedTurn) -> Saying:
    """A recorded turn for the microphone: it ends with the frame of its last audible sample."""
    audible = audible_indices(recorded.pcm)
    assert audible is not None, f"{recorded.name} is silent"
    last = min(round(recorded.end_s * RATE_HZ), len(recorded.pcm) - 1)
    frames = last // FRAME_SAMPLES + 1
    return Saying(
        part=recorded.part,
        kind=recorded.kind,
        voice=recorded.voice,
        pauses_s=tuple(round(pause.end_s - pause.start_s, 3) for pause in recorded.pauses),
        onset_s=audible[0] / RATE_HZ,
        utterance=Utterance(
            name=recorded.name,
            text=recorded.text,
            samples=recorded.pcm[: frames * FRAME_SAMPLES],
            last_audible=last,
        ),
    )


def spread(sayings: Iterable[Saying], count: int | None) -> tuple[Saying, ...]:
    """As many as asked for, one of each part and kind in turn, voices as they come."""
    groups: dict[tuple[str, str], list[Saying]] = {}
    for one in sayings:
        groups.setdefault((one.kind, one.part), []).append(one)
    mixed = [_every_voice(group) for group in groups.values()]
    dealt = chain.from_iterable(zip_longest(*mixed))
    return tuple(one for one in dealt if one is not None)[:count]


def _every_voice(group: Sequence[Saying]) -> list[Saying]:
    """One group with its voices taking turns."""
    by_voice: dict[str, list[Saying]] = {}
    for one in group:
        by_voice.setdefault(one.voice, []).append(one)
    dealt = chain.from_iterable(zip_longest(*by_voice.values()))
    return [one for one in dealt if one is not None]
