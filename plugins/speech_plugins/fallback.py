"""Two providers of one service: the first while it is well, the second while it is not.

What the three services share: who is well, how the first is asked whether it is back, and asking
both at once where that costs little. LiveKit's own `FallbackAdapter`s are not used:

- `stt`: audio that no transcript covers yet is lost with the first provider, and so is a flush that
  it owes an answer to, so a turn never ends; the speech that is going on begins a second time; the
  stream stays with the second provider for the rest of the call.
- `llm`: the second is asked only after the first has failed or `attempt_timeout` has passed; asked
  whether it is back, the first has to write a whole answer, which nobody reads, on every turn.
- `tts`: a reply that breaks after its first sound is cut off there, without an error.

Source: livekit-agents 1.8.9, `{stt,llm,tts}/fallback_adapter.py`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from livekit.agents import APIError, APITimeoutError, utils
from prometheus_client import Counter

logger = logging.getLogger(__name__)

ATTEMPT_TIMEOUT_S = 1.0
"""Longest wait for the first provider before the second is asked in its place, seconds."""
PROBE_INTERVAL_S = 2.0
"""Time between two questions whether the first provider is back, seconds."""
LONGEST_PROBE_INTERVAL_S = 30.0
"""The same for one that fails again and again as soon as it is trusted, seconds."""
PROBE_TIMEOUT_S = 5.0
"""Longest wait for the answer to one of them, seconds; nobody waits with it."""

FALLBACKS: Final = Counter(
    "agent_fallbacks_total",
    "Times that the first provider of a service was left for the second",
    ("service",),
)

_Answer = TypeVar("_Answer")


class FirstProvider:
    """Whether the first provider is well, and the question whether it is back.

    Args:
        service: for the log.
        probe: asks the provider; raises an `APIError` or takes too long while it is not well.
        interval_s: time between two questions, seconds.
    """

    def __init__(
        self,
        service: str,
        probe: Callable[[], Awaitable[None]],
        interval_s: float = PROBE_INTERVAL_S,
    ) -> None:
        self._service = service
        self._probe = probe
        self._shortest_interval_s = interval_s
        self._interval_s = interval_s
        self._probing: asyncio.Task[None] | None = None
        self._closed = False
        self._on_well: set[Callable[[], None]] = set()

    @property
    def is_well(self) -> bool:
        """Whether it is the one to ask."""
        return self._probing is None

    def served(self) -> None:
        """It did what it was asked: should it fail again, the question is soon asked again."""
        self._interval_s = self._shortest_interval_s

    def failed(self, error: APIError) -> None:
        """It did not; it is not asked again until it says that it is back."""
        if self._probing is not None or self._closed:
            return
        FALLBACKS.labels(self._service).inc()
        logger.warning(
            "first provider failed, the second one serves",
            extra={"service": self._service, "error": error.message},
        )
        self._probing = asyncio.create_task(
            self._probe_until_well(self._interval_s), name=f"{self._service} probe"
        )
        self._interval_s = min(2 * self._interval_s, LONGEST_PROBE_INTERVAL_S)

    def call_when_well(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have a function called each time it is back.

        Returns:
            What ends that.
        """
        self._on_well.add(callback)
        return lambda: self._on_well.discard(callback)

    async def _probe_until_well(self, interval_s: float) -> None:
        while not await self._is_back_after(interval_s):
            # A probe whose own time ran out as it was cancelled tells of the time only.
            if self._closed:
                return
        self._probing = None
        logger.info("first provider is back", extra={"service": self._service})
        for callback in tuple(self._on_well):
            callback()

    async def _is_back_after(self, interval_s: float) -> bool:
        await asyncio.sleep(interval_s)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await self._probe()
        except (APIError, TimeoutError) as error:
            logger.debug("first provider is not back", extra={"reason": str(error)})
            return False
        return True

    async def aclose(self) -> None:
        """Ask no more."""
        self._closed = True
        if self._probing is not None:
            await utils.aio.cancel_and_wait(self._probing)


async def race(
    first: Coroutine[Any, Any, _Answer],
    second: Callable[[], Coroutine[Any, Any, _Answer]],
    *,
    head_start_s: float,
    discard: Callable[[_Answer], Awaitable[None]],
) -> tuple[_Answer, APIError | None]:
    """Ask the first; ask the second as well once the first has failed or let its head start pass.

    Args:
        first: asks the first.
        second: makes what asks the second.
        head_start_s: time that the first has alone, seconds.
        discard: takes an answer that came too late.

    Returns:
        The answer that came first, and why it is not the first provider's; None when it is.

    Raises:
        APIError: both failed; a retryable error where there is one.
    """
    asked = [asyncio.ensure_future(first)]
    winner: asyncio.Future[_Answer] | None = None
    try:
        await asyncio.wait(asked, timeout=head_start_s)
        if not asked[0].done() or asked[0].exception() is not None:
            asked.append(asyncio.ensure_future(second()))
        waiting = set(asked)
        while waiting and winner is None:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            winner = next((a for a in asked if a.done() and a.exception() is None), None)
        if winner is None:
            raise _worst(asked)
        return winner.result(), None if winner is asked[0] else _why_lost(asked[0], head_start_s)
    finally:
        losers = [a for a in asked if a is not winner]
        await utils.aio.cancel_and_wait(*losers)
        for late in losers:
            if not late.cancelled() and late.exception() is None:
                await discard(late.result())


def _why_lost(first: "asyncio.Future[Any]", head_start_s: float) -> APIError:
    error = first.exception() if first.done() and not first.cancelled() else None
    if isinstance(error, APIError):
        return error
    return APITimeoutError(f"slower than {head_start_s:g} s, and than the second provider")


def _worst(asked: "Sequence[asyncio.Future[_Answer]]") -> BaseException:
    errors = [error for a in asked if (error := a.exception()) is not None]
    retryable = (e for e in errors if isinstance(e, APIError) and e.retryable)
    return next(retryable, errors[-1])
