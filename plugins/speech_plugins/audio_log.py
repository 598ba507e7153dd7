"""Audio that no final transcript has answered for yet, kept to be sent again after a reconnect."""

from collections import deque
from collections.abc import Iterator

_SAMPLE_BYTES = 2


class AudioLog:
    """What was sent since the last final transcript: audio, and the flushes between.

    Positions are samples from the start of the stream. Bounded: the oldest audio goes first.
    """

    def __init__(self) -> None:
        self._items: deque[bytes | None] = deque()
        self._start = 0
        self._end = 0
        self._flushes = 0

    @property
    def start(self) -> int:
        """Position of the oldest sample kept."""
        return self._start

    @property
    def end(self) -> int:
        """Position after the newest sample."""
        return self._end

    @property
    def awaits_answer(self) -> bool:
        """Whether a flush has not been answered."""
        return self._flushes > 0

    def __iter__(self) -> Iterator[bytes | None]:
        """Audio in order; None stands for a flush."""
        return iter(tuple(self._items))

    def add(self, pcm: bytes) -> None:
        """Keep audio.

        Args:
            pcm: int16, mono.
        """
        self._items.append(pcm)
        self._end += len(pcm) // _SAMPLE_BYTES

    def flush(self) -> None:
        """Keep the place of a flush."""
        self._items.append(None)
        self._flushes += 1

    def flush_answered(self) -> None:
        """Forget what the oldest flush covered; nothing without one."""
        if not self._flushes:
            return
        while (item := self._items.popleft()) is not None:
            self._start += len(item) // _SAMPLE_BYTES
        self._flushes -= 1

    def forget_before(self, position: int) -> None:
        """Forget audio that ends at or before a position; flushes stay."""
        kept: list[bytes | None] = []
        while self._items:
            item = self._items[0]
            if item is None:
                kept.append(item)
            elif self._start + len(item) // _SAMPLE_BYTES <= position:
                self._start += len(item) // _SAMPLE_BYTES
            else:
                break
            self._items.popleft()
        self._items.extendleft(reversed(kept))
