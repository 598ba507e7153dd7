"""The result of a run and its headline figures, as JSON."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from bench.machine import as_result
from bench.percentiles import Percentiles
from bench.phone.records import BROWSER, PHONE, PathTurn, PhoneCall, Series, Step
from bench.stt.word_errors import spelled, word_error_rate, words

_PACKAGES: Final = (
    "parley", "livekit", "livekit-agents", "moonshine-voice", "onnxruntime", "numpy",
)  # fmt: skip
LATE_S: Final = 0.03
"""A caller whose frame was later than this could not keep its own time."""
OTHERS_LOAD: Final = 0.5
"""Load average before the run above which somebody else's work is in the figures."""


@dataclass
class Report:
    """Everything that a run found out."""

    conditions: dict[str, Any]
    """What was asked for."""
    turns: list[PathTurn] = field(default_factory=list)
    """Of both paths."""
    calls: list[PhoneCall] = field(default_factory=list)
    """By telephone, that the turns were said in."""
    in_a_row: Series | None = None
    at_once: Series | None = None
    steps: list[Step] = field(default_factory=list)
    """Of the ladder."""
    notes: list[str] = field(default_factory=list)
    """What was left out, could not be run, or casts doubt."""

    @property
    def measured(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.turns)

    def of(self, path: str) -> list[PathTurn]:
        """The turns on one path."""
        return [turn for turn in self.turns if turn.path == path]

    def voice_to_voice_s(self, path: str) -> Percentiles | None:
        """Of the turns that were not cut off; a lost one is infinite."""
        return Percentiles.of(
            [one.voice_to_voice_s for one in self.of(path) if one.voice_to_voice_s is not None]
        )

    def differences_s(self) -> list[float]:
        """Voice to voice by telephone less that of the browser, turn by turn of the same name."""
        browser = {one.name: one.voice_to_voice_s for one in self.of(BROWSER)}
        pairs = [(one.voice_to_voice_s, browser.get(one.name)) for one in self.of(PHONE)]
        return [
            phone_s - browser_s
            for phone_s, browser_s in pairs
            if phone_s is not None and browser_s is not None
        ]

    @property
    def alone(self) -> list[PhoneCall]:
        """The telephone calls that had the stack to themselves and went as they should."""
        rows = self.in_a_row.calls if self.in_a_row else []
        return [call for call in (*self.calls, *rows) if not call.failure]

    @property
    def first_glitch_at_calls(self) -> int | None:
        """The lowest step that was not clean, nor was when it was tried again; None: none."""
        clean = {step.calls for step in self.steps if step.clean}
        return min((one.calls for one in self.steps if one.calls not in clean), default=None)

    def summary(self) -> dict[str, Any]:
        """The headline figures; see bench/README.md. What was not measured is null."""
        phone, browser = self.voice_to_voice_s(PHONE), self.voice_to_voice_s(BROWSER)
        differences = self.differences_s()
        return {
            **_both("answer", Percentiles.of(_known(call.answer_s for call in self.alone))),
            **_both("setup", Percentiles.of(_known(call.first_word_s for call in self.alone))),
            "setup_calls": len(self.alone),
            **_both("voice_to_voice", phone),
            **_both("browser_voice_to_voice", browser),
            "difference_p50_s": phone.p50 - browser.p50 if phone and browser else None,
            "difference_p95_s": phone.p95 - browser.p95 if phone and browser else None,
            "difference_of_pairs_p50_s": statistics.median(differences) if differences else None,
            "turns": len(self.of(PHONE)),
            "browser_turns": len(self.of(BROWSER)),
            "cut_off": sum(one.cut_off for one in self.of(PHONE)),
            "browser_cut_off": sum(one.cut_off for one in self.of(BROWSER)),
            **_words("", [one for one in self.turns if one.conversation]),
            **_words("all_turns_", self.turns),
            **_series("calls_in_a_row", self.in_a_row),
            **_series("calls_at_once", self.at_once),
            "first_glitch_at_calls": self.first_glitch_at_calls,
            "clean_up_to_calls": max((one.calls for one in self.steps if one.clean), default=None),
        }

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; infinite times (what was never heard) are null."""
        return as_result(
            self.summary(),
            _PACKAGES,
            conditions=self.conditions,
            notes=[*self.notes, *self.doubts()],
            turns=[
                asdict(one) | {"stages": one.stages.model_dump() if one.stages else None}
                for one in self.turns
            ],
            calls=[asdict(call) for call in self.calls],
            in_a_row=asdict(self.in_a_row) if self.in_a_row else None,
            at_once=asdict(self.at_once) if self.at_once else None,
            ladder=[asdict(step) | {"clean": step.clean} for step in self.steps],
        )

    def doubts(self) -> list[str]:
        """What the reader should know about the figures."""
        doubts = []
        others = self.conditions.get("load_average_before", (0.0,))[0]
        if others > OTHERS_LOAD:
            doubts.append(f"others used the machine: its load average was {others:.1f} before")
        for path in (PHONE, BROWSER):
            late = sum(one.caller_late_s > LATE_S for one in self.of(path))
            if late:
                doubts.append(
                    f"{path}: in {late} of {len(self.of(path))} turns the caller itself was more "
                    f"than {1000 * LATE_S:.0f} ms late"
                )
        broken = [call.failure for call in self.calls if call.failure]
        if broken:
            doubts.append(f"{len(broken)} of {len(self.calls)} telephone calls: {broken[0]}")
        return doubts

    def progress(self) -> str:
        """How far both paths have come, in a line."""
        shown = []
        for path in (PHONE, BROWSER):
            heard = self.voice_to_voice_s(path)
            figures = f"p50 {1000 * heard.p50:.0f} ms" if heard else "no answer"
            shown.append(f"{path} {len(self.of(path))} turns {figures}")
        return "  ".join(shown)


def _words(prefix: str, turns: Iterable[PathTurn]) -> dict[str, float | int | None]:
    """Word error rates of both paths, their difference in points, and how many words."""
    pairs: dict[str, list[tuple[str, str]]] = {PHONE: [], BROWSER: []}
    for turn in turns:
        pairs[turn.path].append((spelled(turn.said), spelled(turn.understood)))
    phone, browser = (word_error_rate(pairs[path]) for path in (PHONE, BROWSER))
    points = None if phone is None or browser is None else 100 * (phone - browser)
    return {
        f"{prefix}word_error_rate": phone,
        f"browser_{prefix}word_error_rate": browser,
        f"{prefix}word_error_points": points,
        f"{prefix}words": sum(len(words(said)) for said, _ in pairs[PHONE]),
    }


def _series(name: str, series: Series | None) -> dict[str, float | None]:
    if series is None:
        return {name: None, f"{name}_failed": None, f"{name}_lost_rtp_packets": None}
    return {
        name: len(series.calls),
        f"{name}_failed": len(series.failures),
        **_both(f"{name}_setup", Percentiles.of(_known(c.first_word_s for c in series.calls))),
        f"{name}_rtp_packets": sum(call.sent + call.received for call in series.calls),
        f"{name}_lost_rtp_packets": series.lost,
        **{f"{name}_left_{what}": count for what, count in asdict(series.left).items()},
    }


def _both(name: str, found: Percentiles | None) -> dict[str, float | None]:
    return {
        f"{name}_p50_s": found.p50 if found else None,
        f"{name}_p95_s": found.p95 if found else None,
    }


def _known(values: Iterable[float | None]) -> Sequence[float]:
    return [value for value in values if value is not None]
