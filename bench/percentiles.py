"""Percentiles of what was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Percentiles:
    """Of a set of durations, seconds; infinite where something never came."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Percentiles | None":
        """By the nearest rank: every value given is one that was measured."""
        if not values:
            return None
        ordered = sorted(values)
        return cls(*(ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.95, 0.99)))
