"""The result of a run and its headline figures, as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Final, Literal

from bench.llm.asking import Answer
from bench.machine import as_result
from bench.percentiles import Percentiles

Pressure = Literal["kept", "left alone"]

_PACKAGES: Final = ("parley", "aiohttp")


@dataclass(frozen=True)
class Load:
    """What some callers at once met."""

    callers: int
    answers: int
    refused: int
    ttft_s: Percentiles | None
    gap_s: Percentiles | None
    """Between two tokens of one answer."""
    jitter_s: float | None
    """By how much the 99th percentile of those is above the median."""
    cached_share: float | None
    tokens_per_s: float

    @classmethod
    def of(cls, callers: int, answers: Sequence[Answer], refused: int, took_s: float) -> "Load":
        """Put answers together.

        Args:
            callers: at once.
            answers: that were given.
            refused: questions that got none.
            took_s: time from the first question to the last token.
        """
        gap_s = Percentiles.of([gap for answer in answers for gap in answer.gaps_s])
        return cls(
            callers=callers,
            answers=len(answers),
            refused=refused,
            ttft_s=Percentiles.of([answer.ttft_s for answer in answers]),
            gap_s=gap_s,
            jitter_s=gap_s.p99 - gap_s.p50 if gap_s else None,
            cached_share=cached_share(answers),
            tokens_per_s=sum(answer.completion_tokens for answer in answers) / took_s,
        )


@dataclass
class Report:
    """Everything that a run found out."""

    conditions: dict[str, Any]
    """Server, model, prompt: what was asked for."""
    cold: list[Answer] = field(default_factory=list)
    """To prompts that nobody had asked before."""
    cached: list[Answer] = field(default_factory=list)
    """To the same prompts with other words of the caller."""
    loads: list[Load] = field(default_factory=list)
    under_pressure: dict[Pressure, list[Answer]] = field(default_factory=dict)
    """To a known prompt after others have filled the cache."""
    after_leaving: list[int] = field(default_factory=list)
    """Tokens that were still generated for callers who had hung up, at most."""
    notes: list[str] = field(default_factory=list)

    @property
    def measured(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.cached)

    def summary(self) -> dict[str, Any]:
        """The headline figures; see bench/README.md. What was not measured is null."""
        cold, cached = p50(self.cold), p50(self.cached)
        alone = self.loads[0] if self.loads else None
        full = self.loads[-1] if self.loads else None
        kept = self.under_pressure.get("kept", [])
        left = self.under_pressure.get("left alone", [])
        return {
            "prefix_cached_share": cached_share(self.cached),
            "ttft_cached_ratio": ratio(cached, cold),
            "ttft_cold_p50_s": cold,
            "ttft_cached_p50_s": cached,
            "prefix_cached_share_under_pressure": cached_share(kept),
            "ttft_cached_ratio_under_pressure": ratio(p50(kept), cold),
            "prefix_cached_share_under_pressure_not_kept": cached_share(left),
            "ttft_cached_ratio_under_pressure_not_kept": ratio(p50(left), cold),
            "inter_token_p50_s": alone.gap_s.p50 if alone and alone.gap_s else None,
            "inter_token_p99_s": alone.gap_s.p99 if alone and alone.gap_s else None,
            "callers_most": full.callers if full else None,
            "ttft_most_callers_p50_s": full.ttft_s.p50 if full and full.ttft_s else None,
            "inter_token_most_callers_p99_s": full.gap_s.p99 if full and full.gap_s else None,
            "jitter_most_callers_s": full.jitter_s if full else None,
            "cached_share_most_callers": full.cached_share if full else None,
            "tokens_after_cancel_most": max(self.after_leaving, default=None),
            "tokens_after_cancel_mean": fmean(self.after_leaving) if self.after_leaving else None,
        }

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return as_result(
            self.summary(),
            _PACKAGES,
            conditions=self.conditions,
            notes=self.notes,
            cold=[_row(answer) for answer in self.cold],
            cached=[_row(answer) for answer in self.cached],
            under_pressure={
                name: [_row(answer) for answer in answers]
                for name, answers in self.under_pressure.items()
            },
            after_leaving=self.after_leaving,
            loads=[asdict(load) for load in self.loads],
        )


def cached_share(answers: Sequence[Answer]) -> float | None:
    """Of all prompt tokens; None where there are no answers."""
    asked = sum(answer.prompt_tokens for answer in answers)
    return sum(answer.cached_tokens for answer in answers) / asked if asked else None


def p50(answers: Sequence[Answer]) -> float | None:
    """Median time to the first token, seconds; None where there are no answers."""
    found = Percentiles.of([answer.ttft_s for answer in answers])
    return found.p50 if found else None


def ratio(one: float | None, other: float | None) -> float | None:
    """One by the other, where both were measured."""
    return one / other if one is not None and other else None


def _row(answer: Answer) -> dict[str, Any]:
    return {
        "ttft_s": answer.ttft_s,
        "prompt_tokens": answer.prompt_tokens,
        "cached_tokens": answer.cached_tokens,
        "completion_tokens": answer.completion_tokens,
    }
