"""Places of one copy of the model: who is let in, and who is refused at once.

Speculative requests leave some places free, and background work twice as many, so that a caller who
has finished speaking finds one. Within the model vLLM's own priorities decide who goes first.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from language_server.vllm.request import BACKGROUND, SPECULATIVE

Class = Literal["committed", "speculative", "background"]
CLASSES: Final[tuple[Class, ...]] = ("committed", "speculative", "background")


def class_of(priority: int) -> Class:
    """The class of a request by its priority."""
    if priority >= BACKGROUND:
        return "background"
    return "speculative" if priority >= SPECULATIVE else "committed"


class Places:
    """Counts the requests that are being answered.

    Args:
        limit: places in all.
        reserved: places that speculative requests leave free.
    """

    def __init__(self, limit: int, reserved: int) -> None:
        self.limits: dict[Class, int] = {
            "committed": limit,
            "speculative": max(0, limit - reserved),
            "background": max(0, limit - 2 * reserved),
        }
        self._taken: Counter[Class] = Counter()

    @property
    def taken(self) -> int:
        """Requests being answered now."""
        return self._taken.total()

    def taken_by(self, kind: Class) -> int:
        """The same of one class."""
        return self._taken[kind]

    def has_room(self, kind: Class) -> bool:
        """Whether a request would be let in."""
        return self.taken < self.limits[kind]

    @contextmanager
    def place(self, kind: Class) -> Iterator[None]:
        """Take a place for as long as the block runs; ask `has_room` before."""
        self._taken[kind] += 1
        try:
            yield
        finally:
            self._taken[kind] -= 1


class Rate:
    """Bounds the requests per second, with room for a second's worth at once.

    Args:
        per_s: requests per second.
    """

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = max(1.0, per_s)
        self._left = self._most
        self._at_s: float | None = None

    def take(self, now_s: float) -> bool:
        """Whether one more may come now, by a clock that only goes forward."""
        if self._at_s is not None:
            self._left = min(self._most, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
