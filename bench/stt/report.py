"""The result of a run and its headline figures, as JSON."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

import psutil

from bench.machine import as_result
from bench.ramp import limit_found, sustained
from bench.stt.alone import Alone
from bench.stt.plan import BOUNDS_S
from bench.stt.rounds import Round
from bench.stt.word_errors import difference

OURS: Final = "parley"
OURS_FINALS_ONLY: Final = "parley-finals"
PER_REQUEST: Final = "per-request"
_FULL: Final = 0.85
"""Share from which on something counts as in full use."""
_PACKAGES: Final = ("parley", "faster-whisper", "ctranslate2", "moonshine-voice", "numpy")


@dataclass
class Report:
    """Everything that a run found out."""

    conditions: dict[str, Any]
    """Engine, model, recorded set, durations: what was asked for."""
    bound_s: float
    systems: dict[str, str]
    """Name → what it is."""
    rounds: list[Round] = field(default_factory=list)
    alone: Alone | None = None
    """What one caller met on a quiet server."""
    notes: list[str] = field(default_factory=list)
    """What was left out, could not be run, or casts doubt."""

    def sustained(self, system: str, bound_s: float | None = None) -> int:
        """Callers that a server sustains within the bound; the one asked for if none is given."""
        return int(sustained(self.rounds, system, bound_s or self.bound_s))

    @property
    def bounds_s(self) -> list[float]:
        """The bound asked for and the usual ones, rising."""
        return sorted({*BOUNDS_S, self.bound_s})

    @property
    def peers(self) -> list[str]:
        """Names of the per-request servers that ran."""
        return [name for name in self.systems if name.startswith(PER_REQUEST)]

    @property
    def measured(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.rounds)

    def summary(self) -> dict[str, Any]:
        """The headline figures; see bench/README.md."""
        best = self._best_round(OURS)
        reused = self.alone.final_after_preflight_s if self.alone else None
        return {
            "streams_sustained": self.sustained(OURS),
            "final_p95_s": best.final_s.p95 if best and best.final_s else None,
            **self._wer(),
            "reused_final_p50_s": reused.p50 if reused else None,
            "reused_final_p95_s": reused.p95 if reused else None,
            **self._ratio(),
            "bound_s": self.bound_s,
            "limit_found": limit_found(self.rounds, OURS, self.bound_s),
            "saturates": self._saturates(),
            "streams_sustained_by_bound": {
                system: {f"{bound:g}": self.sustained(system, bound) for bound in self.bounds_s}
                for system in self.systems
            },
        }

    def _ratio(self) -> dict[str, Any]:
        """Ours against the better per-request server, at the first bound that this one keeps."""
        ours = OURS_FINALS_ONLY if OURS_FINALS_ONLY in self.systems else OURS
        for bound_s in (bound for bound in self.bounds_s if bound >= self.bound_s):
            peer = max(self.peers, key=lambda name: self.sustained(name, bound_s), default=None)
            theirs = self.sustained(peer, bound_s) if peer else 0
            if theirs:
                return {
                    "streams_ratio_vs_per_request": self.sustained(ours, bound_s) / theirs,
                    "ratio_bound_s": bound_s,
                    "ratio_of": f"{ours} to {peer}",
                    "ratio_is_lower_bound": not limit_found(self.rounds, ours, bound_s),
                }
        return {"streams_ratio_vs_per_request": None}

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; infinite latencies (finals that never came) are null."""
        rows = [
            {key: value for key, value in asdict(result).items() if key != "against_offline"}
            | {
                "cost_per_stream_cores": result.cost_per_stream,
                "within_bound": result.within(self.bound_s),
                "client_saturated": result.client_saturated,
            }
            for result in self.rounds
        ]
        return as_result(
            self.summary(),
            _PACKAGES,
            conditions=self.conditions,
            systems=self.systems,
            notes=[*self.notes, *self.doubts()],
            alone=asdict(self.alone) if self.alone else None,
            rounds=rows,
        )

    def doubts(self) -> list[str]:
        """What the reader should know about the rounds."""
        busy = sorted({r.streams for r in self.rounds if r.client_saturated})
        return (
            [f"the load generator itself was late at {', '.join(map(str, busy))} streams"]
            if busy
            else []
        )

    def _best_round(self, system: str) -> Round | None:
        streams = self.sustained(system)
        return next(
            (
                result
                for result in self.rounds
                if (result.system, result.streams) == (system, streams)
                and result.within(self.bound_s)
            ),
            None,
        )

    def _saturates(self) -> str | None:
        """What was in full use when ours no longer kept the bound; None while it did."""
        if not limit_found(self.rounds, OURS, self.bound_s):
            return None
        last = [result for result in self.rounds if result.system == OURS][-1]
        return ", ".join(limits(last, psutil.cpu_count() or 1)) or "nothing was in full use"

    def _wer(self) -> dict[str, Any]:
        """Streaming finals less files: one caller, and all rounds of ours that kept the bound."""
        under_load = difference(
            final
            for result in self.rounds
            if result.system in (OURS, OURS_FINALS_ONLY) and result.within(self.bound_s)
            for final in result.against_offline
        )
        found: dict[str, Any] = {}
        alone = self.alone.difference if self.alone else None
        for suffix, delta in (("", alone), ("_under_load", under_load)):
            found[f"wer_delta{suffix}"] = delta.points if delta else None
            found[f"wer_delta{suffix}_margin"] = delta.margin_points if delta else None
            found[f"wer_words{suffix}"] = delta.words if delta else 0
        return found


def limits(result: Round, cores: int) -> list[str]:
    """What was in full use in a round, in words.

    Args:
        result: the round.
        cores: of the machine.
    """
    load = result.load
    full = []
    if load.engine_busy is not None and load.engine_busy >= _FULL:
        full.append(f"engine {100 * load.engine_busy:.0f} % busy")
    if load.event_loop_cores >= _FULL:
        full.append(f"event loop {100 * load.event_loop_cores:.0f} % of a core")
    used = load.cpu_cores + result.client_cores
    if used >= _FULL * cores:
        full.append(f"{used:.1f} of {cores} cores (load generator {result.client_cores:.1f})")
    return full
