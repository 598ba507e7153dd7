"""What the caller types: bounded in size and rate, it interrupts the agent like speech does."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from livekit import rtc
from livekit.agents.types import TOPIC_CHAT

logger = logging.getLogger(__name__)

MAX_TYPED_CHARACTERS = 1000
"""Longest message; a sentence said in a call is far shorter."""

MAX_MESSAGES = 12
"""Messages accepted within `WINDOW_S`."""

WINDOW_S = 10.0
"""Span of the rate limit, seconds."""


class TypedText:
    """Reads text streams of one participant on topic `lk.chat`.

    LiveKit's own handler reads a stream to its end whatever its size; this one stops at the limit.
    """

    def __init__(self, room: rtc.Room, on_text: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        self._room = room
        self._on_text = on_text
        self._accepted_at: deque[float] = deque(maxlen=MAX_MESSAGES)
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Begin to listen."""
        self._room.register_text_stream_handler(TOPIC_CHAT, self._on_stream)

    async def close(self) -> None:
        """Stop listening and drop what is still being read."""
        self._room.unregister_text_stream_handler(TOPIC_CHAT)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_stream(self, reader: rtc.TextStreamReader, identity: str) -> None:
        participant = self._room.remote_participants.get(identity)
        task = asyncio.create_task(self._read(reader, known=participant is not None))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, reader: rtc.TextStreamReader, *, known: bool) -> None:
        if not known or not self._admit():
            reader.close()
            logger.warning("typed message refused", extra={"reason": "rate" if known else "sender"})
            return
        text = ""
        try:
            async for chunk in reader:
                text += chunk
                if len(text) > MAX_TYPED_CHARACTERS:
                    logger.warning("typed message refused", extra={"reason": "length"})
                    return
        except rtc.StreamError as error:
            logger.warning("typed message lost", extra={"reason": str(error)})
            return
        finally:
            reader.close()
        if text := " ".join(text.split()):
            await self._on_text(text)

    def _admit(self) -> bool:
        now = time.monotonic()
        if len(self._accepted_at) == MAX_MESSAGES and now - self._accepted_at[0] < WINDOW_S:
            return False
        self._accepted_at.append(now)
        return True
