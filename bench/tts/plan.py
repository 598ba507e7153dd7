"""How long and how hard to measure."""

from dataclasses import dataclass, replace
from typing import Final

from bench.options import BadOption

_MOST_PER_S: Final = 1000.0
BOUND_S: Final = 0.5
_TINY_RATES_HZ: Final = (0.25, 0.5, 1.0)
TOKENS_PER_S: Final = 100.0
"""Pace of the language model that writes the text: a fast one, so that little of what a caller
waits for is its time. 8B on an H200 at 64 calls is of this order."""


@dataclass(frozen=True)
class Plan:
    """What a run measures."""

    rates_hz: tuple[float, ...]
    """Replies asked for per second, step by step."""
    listeners: tuple[int, ...]
    """The same for the two voices on the same tokens: how many keep listening."""
    settle_s: float
    """Time at the start of a round that does not count."""
    talk_s: float
    """Length of a round from then on."""
    code_talk_s: float
    """The same for the two voices on the same tokens."""
    alone: int | None
    """Replies that one caller asks for on each wire; None: all texts."""
    silent: int | None
    """Texts of which every voice's leading silence is measured; None: all."""
    counted: int | None
    """Texts of the tiny voice whose tokens are counted; None: all."""
    codec_rounds: int
    """How often the codec's work is measured."""
    second_chance: bool
    """Whether a round that did not keep the bound is repeated once."""
    time_limit_s: float | None = None
    """No round but the first of a voice begins that would not be over by then, counted from the
    start of the run."""
    bound_s: float = BOUND_S
    tokens_per_s: float = TOKENS_PER_S

    def for_tiny_voice(self) -> "Plan":
        """With loads that a language model on a CPU may bear."""
        return replace(self, rates_hz=_TINY_RATES_HZ[-len(self.rates_hz) :])

    def changed(
        self,
        *,
        rates_hz: tuple[float, ...] | None,
        talk_s: float | None,
        bound_s: float,
        tokens_per_s: float,
    ) -> "Plan":
        """With what was asked for."""
        return replace(
            self,
            rates_hz=rates_hz or self.rates_hz,
            talk_s=talk_s or self.talk_s,
            bound_s=bound_s,
            tokens_per_s=tokens_per_s,
        )


FULL: Final = Plan(
    rates_hz=(0.5, 1, 2, 4, 6, 8, 12, 16, 24, 32),
    listeners=(1, 4, 8, 16, 24, 32, 48, 64),
    settle_s=2.0,
    talk_s=30.0,
    code_talk_s=10.0,
    alone=None,
    silent=None,
    counted=None,
    codec_rounds=5,
    second_chance=True,
)
QUICK: Final = Plan(
    rates_hz=(1, 4),
    listeners=(1, 8),
    settle_s=0.5,
    talk_s=4.0,
    code_talk_s=2.0,
    alone=6,
    silent=4,
    counted=3,
    codec_rounds=1,
    second_chance=False,
    time_limit_s=54.0,
)


def parse_rates(text: str) -> tuple[float, ...]:
    """Arrivals per second from `0.5,1,2`.

    Raises:
        BadOption: no rising list of positive numbers.
    """
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadOption(f"--rates {text}: give numbers with commas, like 0.5,1,2") from None
    if list(rates) != sorted(set(rates)) or not 0 < rates[0] <= rates[-1] <= _MOST_PER_S:
        raise BadOption(f"--rates {text}: give rising numbers up to {_MOST_PER_S:g}")
    return rates
