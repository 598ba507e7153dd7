import math

import pytest

from bench.percentiles import Percentiles


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert Percentiles.of(values) == Percentiles(50.0, 95.0, 99.0)


def test_of_few_values_the_highest_percentile_is_the_largest() -> None:
    assert Percentiles.of([3.0, 1.0, 2.0]) == Percentiles(2.0, 3.0, 3.0)
    assert Percentiles.of([7.0]) == Percentiles(7.0, 7.0, 7.0)


def test_of_nothing_there_are_none() -> None:
    assert Percentiles.of([]) is None


@pytest.mark.parametrize(("lost", "share"), [(4, "p95"), (2, "p99")])
def test_a_final_that_never_came_counts(lost: int, share: str) -> None:
    found = Percentiles.of([0.1] * (100 - lost) + [math.inf] * lost)
    assert found is not None
    assert math.isfinite(getattr(found, share)) is (share == "p95")
