"""What the tools of one call have done: repeated writes, and how many calls a turn has made."""

import asyncio
import hashlib
import json
from collections.abc import Mapping

MAX_CALLS_PER_TURN = 12
"""Tool calls in one turn; a model that wants more is lost. LiveKit bounds only the steps."""


class RunRecord:
    """Remembers the last write, and counts calls.

    A write that equals the last one is a repetition: a model that lost its place, a retried
    request, two equal calls in one answer. It gets the first one's result, or waits for it. Another
    write in between makes it a wish of its own again: book, cancel and book once more books twice.
    A write whose outcome is not known is not tried again before something was looked up.
    """

    def __init__(self) -> None:
        self._last_write: tuple[str, asyncio.Future[str | None]] | None = None
        self._in_doubt = False
        self._turn = ""
        self._calls = 0
        self.filled_turns: set[str] = set()
        """Turns in which the caller has heard the filler."""
        self.handovers = 0
        """How often the caller was handed from one agent to another."""

    def admit(self, turn: str) -> bool:
        """Count one call of a turn; False when there have been too many."""
        if turn != self._turn:
            self._turn, self._calls = turn, 0
        self._calls += 1
        return self._calls <= MAX_CALLS_PER_TURN

    def repeated(self, key: str) -> asyncio.Future[str | None] | None:
        """The outcome of an equal write before this one; None when this is none."""
        if self._last_write is not None and self._last_write[0] == key:
            return self._last_write[1]
        return None

    def begin_write(self, key: str) -> asyncio.Future[str | None]:
        """Note a write; the future is to be set to what the model is told."""
        outcome: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._last_write, self._in_doubt = (key, outcome), False
        return outcome

    def doubt_write(self, outcome: asyncio.Future[str | None]) -> None:
        """It is not known whether the write happened: an equal one has to wait for a look-up."""
        self._in_doubt = self._last_write is not None and self._last_write[1] is outcome

    def looked_up(self) -> None:
        """Something was looked up: a write in doubt may be tried again."""
        if self._in_doubt:
            self._last_write, self._in_doubt = None, False

    def forget_write(self, outcome: asyncio.Future[str | None]) -> None:
        """The write did not happen: an equal one may try again."""
        if self._last_write is not None and self._last_write[1] is outcome:
            self._last_write = None


def idempotency_key(room: str, tool: str, arguments: Mapping[str, object]) -> str:
    """Name one wish: the same call, tool and checked arguments give the same 64 hex digits."""
    canonical = json.dumps([room, tool, arguments], sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()
