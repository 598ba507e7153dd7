"""Keys of a telephone, and how a row of them becomes one entry: no room, no clock."""

from collections import deque
from typing import Final

KEYS: Final = "0123456789*#ABCD"
"""Every DTMF key; the place of each is its event code. Source: RFC 4733, section 3.2."""

MAX_ENTRY_KEYS: Final = 32
"""Longest entry; account numbers, dates and extensions are far shorter."""

MAX_KEYS: Final = 40
"""Keys accepted within `WINDOW_S`. A telephone that dials by itself sends ten in a second; the
shortest tones that a network passes on would allow twelve. Source: ITU-T Q.24, 40 ms on and off."""
WINDOW_S: Final = 3.0
"""Span of the rate limit, seconds."""


def key_code(key: str) -> int:
    """The event code of a key.

    Raises:
        ValueError: there is no such key.
    """
    if len(key) != 1 or key not in KEYS:
        raise ValueError("a telephone has the keys 0-9, *, # and A-D")
    return KEYS.index(key)


class KeyRate:
    """Bounds the rate of one participant's keys: a stuck key must not flood a call."""

    def __init__(self) -> None:
        self._accepted_at: deque[float] = deque(maxlen=MAX_KEYS)

    def admit(self, now: float) -> bool:
        """Whether a key is taken.

        Args:
            now: Monotonic seconds.
        """
        if len(self._accepted_at) == MAX_KEYS and now - self._accepted_at[0] < WINDOW_S:
            return False
        self._accepted_at.append(now)
        return True


class KeyEntry:
    """Reads keys as one entry, which ends with `#`, at a known length, or when the caller pauses.

    Args:
        length: Keys of an entry where that is known; None: it ends otherwise.
    """

    def __init__(self, length: int | None = None) -> None:
        self._length = length
        self._keys = ""
        self._too_long = False

    @property
    def begun(self) -> bool:
        """Whether an entry has begun and not ended."""
        return bool(self._keys) or self._too_long

    def add(self, key: str) -> str | None:
        """Take a key; the entry, without its `#`, once it is whole.

        A `#` alone is an entry: it is a key of menus. An entry that is too long is dropped whole.
        """
        if key == "#":
            alone = not self.begun
            entry = self.end()
            return "#" if alone else entry
        if len(self._keys) == MAX_ENTRY_KEYS:
            self._too_long = True
        if not self._too_long:
            self._keys += key
        return self.end() if len(self._keys) == self._length else None

    def end(self) -> str | None:
        """The caller has paused: the entry, or None where there is none, or it was too long."""
        entry = "" if self._too_long else self._keys
        self._keys, self._too_long = "", False
        return entry or None
