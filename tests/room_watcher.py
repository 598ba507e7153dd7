"""Somebody in a call's room whom the room does not show: sees what is sent into it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from livekit import api, rtc

from tests.phone_stack import PhoneStack
from voice_agent.turn_report import TURN_TOPIC

TRANSCRIPTS = "lk.transcription"
"""Topic of what is said, word by word. Source: livekit-agents 1.8.9, types.py."""


class RoomWatcher:
    """What has been seen so far."""

    def __init__(self, room: rtc.Room) -> None:
        self.texts = defaultdict[str, list[str]](list)
        """Topic → texts that were sent, in order."""
        self.keys: list[str] = []
        """Keys that came into the room, whoever pressed them."""
        self._reading: set[asyncio.Task[None]] = set()
        room.on("sip_dtmf_received", lambda event: self.keys.append(event.digit))
        for topic in (TURN_TOPIC, TRANSCRIPTS):
            room.register_text_stream_handler(topic, partial(self._begin, topic))

    async def aclose(self) -> None:
        """Read to its end what has begun to come."""
        await asyncio.gather(*self._reading)

    def _begin(self, topic: str, stream: rtc.TextStreamReader, _: str) -> None:
        self._reading.add(asyncio.create_task(self._read(topic, stream)))

    async def _read(self, topic: str, stream: rtc.TextStreamReader) -> None:
        self.texts[topic].append(await stream.read_all())


@asynccontextmanager
async def watching(stack: PhoneStack) -> AsyncIterator[RoomWatcher]:
    """Watch the only call that there is."""
    grants = api.VideoGrants(
        room_join=True,
        room=await stack.until_a_room_is_there(),
        hidden=True,
        can_publish=False,
    )
    token = api.AccessToken(stack.stack.livekit_api_key, stack.stack.livekit_api_secret)
    room = rtc.Room()
    watcher = RoomWatcher(room)
    await room.connect(
        stack.stack.livekit_url,
        token.with_identity("watcher").with_grants(grants).to_jwt(),
        rtc.RoomOptions(auto_subscribe=False),
    )
    try:
        yield watcher
    finally:
        await watcher.aclose()
        await room.disconnect()
