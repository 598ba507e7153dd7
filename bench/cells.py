"""How numbers are written in tables."""

import math
from typing import Final

WIDTH: Final = 120
"""Columns that the tables need."""


def ms(value_s: float | None) -> str:
    """Seconds as whole milliseconds."""
    if value_s is None:
        return ""
    return f"{1000 * value_s:.0f}" if math.isfinite(value_s) else "never"


def percent(share: float | None) -> str:
    """A share of one."""
    return "" if share is None else f"{100 * share:.1f}"
