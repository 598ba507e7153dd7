"""Digits that leave no trace: kept in bytes that are overwritten, shown and copied by nobody."""

from typing import NoReturn, Self


class SecretDigits:
    """ASCII digits in memory of a fixed size, which `wipe` overwrites.

    Args:
        capacity: Most digits.
    """

    __slots__ = ("_digits", "_length")

    def __init__(self, capacity: int) -> None:
        # never grows, since a bytearray that grows leaves its old memory behind
        self._digits = bytearray(capacity)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, digit: str) -> None:
        """Append one digit.

        Raises:
            ValueError: it is no digit, or there is no room for it.
        """
        if len(digit) != 1 or digit not in "0123456789":
            raise ValueError("a key between 0 and 9 is needed")
        if self._length == len(self._digits):
            raise ValueError("there are too many digits")
        self._digits[self._length] = ord(digit)
        self._length += 1

    def view(self) -> memoryview:
        """The digits themselves, not a copy; uint8. It shows zeros once they are wiped."""
        return memoryview(self._digits)[: self._length].toreadonly()

    def wipe(self) -> None:
        """Overwrite the digits."""
        self._digits[:] = bytes(len(self._digits))
        self._length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def __repr__(self) -> str:
        return "SecretDigits(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secret digits are not copied")
