"""What the agent understood, read by somebody who only listens in the room.

A telephone is told nothing but sound. The agent's reports go to everybody in the room, so a hidden
participant reads them there: the same way for both paths.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Set
from contextlib import asynccontextmanager, suppress
from typing import Final

from livekit import api, rtc
from pydantic import ValidationError

from tests.phone_stack import PhoneStack
from voice_agent.turn_report import TURN_TOPIC, TurnReport, TurnStages

_GRACE_S: Final = 2.0
"""Longest wait for a turn's report once its answer is over."""
_POLL_S: Final = 0.05
_ROOM_LIMIT_S: Final = 10.0


class Listener:
    """Collects the reports of one call."""

    def __init__(self) -> None:
        self._reports: list[tuple[float, TurnReport]] = []
        self._reading: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    async def understood(self, since_s: float) -> tuple[str, TurnStages | None]:
        """What the caller has said since a moment, as the agent wrote it down, and the last stages.

        Args:
            since_s: on the clock of `time.monotonic`.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S), self._changed:
                await self._changed.wait_for(lambda: bool(self._since(since_s)))
        reports = self._since(since_s)
        if not reports:
            return "", None
        return " ".join(report.user_text for report in reports), reports[-1].stages

    def take(self, reader: rtc.TextStreamReader, _: str) -> None:
        """Read a report that is being sent."""
        task = asyncio.create_task(self._read(reader))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, reader: rtc.TextStreamReader) -> None:
        try:
            report = TurnReport.model_validate_json(await reader.read_all())
        except (rtc.StreamError, ValidationError):
            return
        async with self._changed:
            self._reports.append((time.monotonic(), report))
            self._changed.notify_all()

    def _since(self, since_s: float) -> list[TurnReport]:
        return [
            report
            for arrived_s, report in self._reports
            if arrived_s >= since_s and report.user_text
        ]


@asynccontextmanager
async def listening(phones: PhoneStack, known: Set[str]) -> AsyncIterator[Listener]:
    """Listen in the room of a call.

    Args:
        phones: the stack.
        known: rooms that there were before the call.

    Raises:
        RuntimeError: there is no such room, or it cannot be joined.
    """
    name = await _new_room(phones, known)
    stack = phones.stack
    grants = api.VideoGrants(room_join=True, room=name, hidden=True, can_publish=False)
    token = api.AccessToken(stack.livekit_api_key, stack.livekit_api_secret)
    jwt = token.with_identity("bench-listener").with_grants(grants).to_jwt()
    listener, room = Listener(), rtc.Room()
    room.register_text_stream_handler(TURN_TOPIC, listener.take)
    try:
        await room.connect(stack.livekit_url, jwt, rtc.RoomOptions(auto_subscribe=False))
    except rtc.ConnectError as error:
        raise RuntimeError(f"nobody could listen in the call's room: {error}") from None
    try:
        yield listener
    finally:
        await room.disconnect()


async def _new_room(phones: PhoneStack, known: Set[str]) -> str:
    give_up_s = time.monotonic() + _ROOM_LIMIT_S
    while time.monotonic() < give_up_s:
        if new := sorted(set(await phones.rooms()) - known):
            return new[0]
        await asyncio.sleep(_POLL_S)
    raise RuntimeError("the call has no room")
