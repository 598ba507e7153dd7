"""The result of a run and its headline figures, as JSON."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from bench.call.caller import Backchannel, Interruption, Turn
from bench.call.engines import REAL, SIMULATED
from bench.call.sayings import UNFINISHED
from bench.call.wirings import EAGER, OURS, STOCK
from bench.call.worker_cost import Cost
from bench.machine import as_result
from bench.percentiles import Percentiles

_PACKAGES: Final = (
    "parley", "livekit", "livekit-agents", "livekit-plugins-openai", "livekit-plugins-silero",
    "moonshine-voice", "onnxruntime", "numpy",
)  # fmt: skip
LATE_S: Final = 0.03
"""A caller whose frame was later than this could not keep its own time."""
OTHERS_LOAD: Final = 0.5
"""Load average before the run above which somebody else's work is in the figures."""
SILENT_S: Final = 2.0
"""An answer that takes longer is dead air: people say "hello?" by then."""


@dataclass
class Tally:
    """What one wiring did on one set of engines."""

    engines: str
    wiring: str
    turns: list[Turn] = field(default_factory=list)
    interruptions: list[Interruption] = field(default_factory=list)
    backchannels: list[Backchannel] = field(default_factory=list)
    calls: int = 0
    failures: list[str] = field(default_factory=list)
    """Calls that were not answered or broke off, and why."""

    def latencies_s(self, chosen: Callable[[Turn], bool] = lambda _: True) -> list[float]:
        """Voice to voice of the turns that count: answered after they had ended, and ended.

        Turns that the caller leaves unfinished are not among them: waiting is right there. A lost
        turn is infinite.
        """
        return [
            turn.heard.voice_to_voice_s
            for turn in self.turns
            if turn.kind != UNFINISHED and turn.heard.voice_to_voice_s is not None and chosen(turn)
        ]

    @property
    def voice_to_voice_s(self) -> Percentiles | None:
        """Of `latencies_s`."""
        return Percentiles.of(self.latencies_s())

    @property
    def unfinished_s(self) -> Percentiles | None:
        """The same of the turns that are left unfinished."""
        return Percentiles.of(
            [
                turn.heard.voice_to_voice_s
                for turn in self.turns
                if turn.kind == UNFINISHED and turn.heard.voice_to_voice_s is not None
            ]
        )

    @property
    def barge_in_stop_s(self) -> Percentiles | None:
        """Interruption's first sound to the agent's silence."""
        return Percentiles.of(
            [one.stopped_after_s for one in self.interruptions if one.stopped_after_s is not None]
        )

    @property
    def backchannel_break_s(self) -> Percentiles | None:
        """How long a back-channel silenced the agent."""
        return Percentiles.of([one.break_s for one in self.backchannels if one.break_s is not None])

    def rates(self) -> dict[str, float | None]:
        """Shares of the turns, and of the back-channels; None where there were none."""
        heard = [turn.heard for turn in self.turns]
        return {
            "false_cutoff_rate": share(one.cut_off or one.committed_early for one in heard),
            "audible_cutoff_rate": share(one.cut_off for one in heard),
            "split_turn_rate": share(turn.user_turns > 1 for turn in self.turns),
            "lost_turn_rate": share(one.lost for one in heard),
            "dead_air_rate": share(latency_s > SILENT_S for latency_s in self.latencies_s()),
            "backchannels_ignored_rate": share(
                one.ignored for one in self.backchannels if one.ignored is not None
            ),
            "backchannels_survived_rate": share(
                one.kept_answer for one in self.backchannels if one.kept_answer is not None
            ),
        }

    def groups(self, of: Callable[[Turn], str]) -> dict[str, "Tally"]:
        """The turns by a property of theirs."""
        found: dict[str, Tally] = {}
        for turn in self.turns:
            found.setdefault(of(turn), Tally(self.engines, self.wiring)).turns.append(turn)
        return found


@dataclass
class Report:
    """Everything that a run found out."""

    conditions: dict[str, Any]
    """What was asked for."""
    systems: dict[str, str] = field(default_factory=dict)
    """Name of a wiring or of engines → what it is."""
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """By engines and wiring."""
    costs: list[Cost] = field(default_factory=list)
    """Of our worker, by calls at once."""
    notes: list[str] = field(default_factory=list)
    """What was left out, could not be run, or casts doubt."""

    @property
    def measured(self) -> bool:
        """Whether there is anything to show."""
        return any(tally.turns for tally in self.tallies.values())

    def tally(self, engines: str, wiring: str) -> Tally:
        """Where a wiring's calls are counted."""
        return self.tallies.setdefault((engines, wiring), Tally(engines, wiring))

    def summary(self) -> dict[str, Any]:
        """The headline figures; see bench/README.md. What was not measured is null."""
        ours, stock = (self._found(REAL.name, wiring.name) for wiring in (OURS, STOCK))
        found: dict[str, Any] = {
            **_latency("", ours),
            **_latency("stock_", stock),
            "ratio_p50_vs_stock": _ratio(ours, stock, "p50"),
            "ratio_p95_vs_stock": _ratio(ours, stock, "p95"),
            **ours.rates(),
            **{f"stock_{name}": rate for name, rate in stock.rates().items()},
            "barge_in_stop_p95_s": _value(ours.barge_in_stop_s, "p95"),
            "stock_barge_in_stop_p95_s": _value(stock.barge_in_stop_s, "p95"),
            "backchannel_break_p50_s": _value(ours.backchannel_break_s, "p50"),
            "backchannel_break_p95_s": _value(ours.backchannel_break_s, "p95"),
            "turns": len(ours.turns),
            "stock_turns": len(stock.turns),
            "interruptions": len(ours.interruptions),
            "backchannels": len(ours.backchannels),
        }
        for part, group in ours.groups(lambda turn: turn.part).items():
            found[f"{part}_false_cutoff_rate"] = group.rates()["false_cutoff_rate"]
            found |= _latency(f"{part}_", group)
        if (SIMULATED.name, OURS.name) in self.tallies:
            simulated = self._found(SIMULATED.name, OURS.name)
            eager = self._found(SIMULATED.name, EAGER.name)
            beside = self._found(SIMULATED.name, STOCK.name)
            found |= _latency("simulated_", simulated) | _latency("simulated_stock_", beside)
            found |= _latency("simulated_eager_", eager)
            found["simulated_false_cutoff_rate"] = simulated.rates()["false_cutoff_rate"]
            found["simulated_eager_false_cutoff_rate"] = eager.rates()["false_cutoff_rate"]
        for cost in self.costs:
            found[f"worker_cores_per_call_at_{cost.calls}"] = cost.cpu_cores_per_call
            found[f"worker_bytes_per_call_at_{cost.calls}"] = cost.pss_bytes_per_call
        return found

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; infinite times (what was never heard) are null."""
        rows = [
            {
                "engines": tally.engines,
                "wiring": tally.wiring,
                "simulated": tally.engines == SIMULATED.name,
                "calls": tally.calls,
                "voice_to_voice_s": _as_dict(tally.voice_to_voice_s),
                "unfinished_s": _as_dict(tally.unfinished_s),
                "barge_in_stop_s": _as_dict(tally.barge_in_stop_s),
                "backchannel_break_s": _as_dict(tally.backchannel_break_s),
                **tally.rates(),
                "by_kind": _by(tally, lambda turn: turn.kind),
                "by_part": _by(tally, lambda turn: turn.part),
                "failures": tally.failures,
                "turns": [asdict_turn(turn) for turn in tally.turns],
                "interruptions": [asdict(one) for one in tally.interruptions],
                "backchannels": [
                    asdict(one) | {"ignored": one.ignored} for one in tally.backchannels
                ],
            }
            for tally in self.tallies.values()
        ]
        return as_result(
            self.summary(),
            _PACKAGES,
            conditions=self.conditions,
            systems=self.systems,
            notes=[*self.notes, *self.doubts()],
            wirings=rows,
            worker_cost=[asdict(cost) | {"saturated": cost.saturated} for cost in self.costs],
        )

    def doubts(self) -> list[str]:
        """What the reader should know about the figures."""
        doubts = []
        others = self.conditions.get("load_average_before", (0.0,))[0]
        if others > OTHERS_LOAD:
            doubts.append(f"others used the machine: its load average was {others:.1f} before")
        for tally in self.tallies.values():
            late = sum(turn.caller_late_s > LATE_S for turn in tally.turns)
            if late:
                doubts.append(
                    f"{tally.wiring}, engines {tally.engines}: in {late} of {len(tally.turns)} "
                    f"turns the caller itself was more than {1000 * LATE_S:.0f} ms late"
                )
            if tally.failures:
                doubts.append(
                    f"{tally.wiring}, engines {tally.engines}: {len(tally.failures)} of "
                    f"{tally.calls} calls broke off: {tally.failures[0]}"
                )
        full = [str(cost.calls) for cost in self.costs if cost.saturated]
        if full:
            doubts.append(
                f"the machine, callers and engines included, was full at {', '.join(full)} calls"
            )
        return doubts

    def _found(self, engines: str, wiring: str) -> Tally:
        return self.tallies.get((engines, wiring), Tally(engines, wiring))


def asdict_turn(turn: Turn) -> dict[str, Any]:
    """A turn as a JSON object."""
    fields = asdict(turn)
    fields["stages"] = turn.stages.model_dump(exclude_none=True) if turn.stages else None
    return fields


def share(outcomes: Iterable[bool]) -> float | None:
    """How many of them are true, of one; None where there are none."""
    found = list(outcomes)
    return sum(found) / len(found) if found else None


def _by(tally: Tally, of: Callable[[Turn], str]) -> dict[str, Any]:
    return {
        name: {
            "turns": len(group.turns),
            "voice_to_voice_s": _as_dict(group.voice_to_voice_s or group.unfinished_s),
            **{key: rate for key, rate in group.rates().items() if not key.startswith("back")},
        }
        for name, group in tally.groups(of).items()
    }


def _latency(prefix: str, tally: Tally) -> dict[str, float | None]:
    found = tally.voice_to_voice_s
    return {f"{prefix}voice_to_voice_{name}_s": _value(found, name) for name in ("p50", "p95")}


def _ratio(ours: Tally, stock: Tally, name: str) -> float | None:
    above, below = (_value(tally.voice_to_voice_s, name) for tally in (ours, stock))
    return above / below if above is not None and below else None


def _value(found: Percentiles | None, name: str) -> float | None:
    return getattr(found, name) if found else None


def _as_dict(found: Percentiles | None) -> dict[str, float] | None:
    return asdict(found) if found else None
