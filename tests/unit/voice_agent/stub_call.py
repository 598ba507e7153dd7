"""What a call is tied to, recorded: its session, its room and its job."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from livekit import rtc
from livekit.agents.voice import SpeechHandle


class StubSession(rtc.EventEmitter[Any]):
    """Records what the call does with its session; says everything at once."""

    stt = llm = tts = None

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, bool]] = []
        self.asked: list[str] = []
        self.start_options: dict[str, Any] = {}
        self.interruptible = True
        self.away_timer_resets = 0
        self.output = SimpleNamespace(audio=None)
        self.shut_down = asyncio.Event()
        self.spoke = asyncio.Event()

    async def start(self, agent: Any, **options: Any) -> None:
        self.agent = agent
        self.start_options = options

    def say(self, text: str, *, allow_interruptions: bool = True) -> SpeechHandle:
        if self.shut_down.is_set():
            raise RuntimeError("closing")
        self.said.append((text, allow_interruptions))
        handle = SpeechHandle.create()
        handle._mark_done()
        self.spoke.set()
        return handle

    async def interrupt(self) -> None:
        if not self.interruptible:
            raise RuntimeError("not interruptible")

    def generate_reply(self, *, user_input: str) -> None:
        self.asked.append(user_input)

    def reset_away_timer(self) -> None:
        self.away_timer_resets += 1

    def shutdown(self, *, drain: bool) -> None:
        assert drain
        self.shut_down.set()


class StubRoom(rtc.EventEmitter[Any]):
    name = "room-1"

    def __init__(self) -> None:
        super().__init__()
        self.attributes: dict[str, str] = {}
        self.attributes_set = asyncio.Event()
        self.published: asyncio.Queue[str] = asyncio.Queue()
        self.sent: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self.local_participant = self
        caller = SimpleNamespace(kind=rtc.ParticipantKind.PARTICIPANT_KIND_STANDARD)
        self.remote_participants: dict[str, Any] = {"caller": caller}
        self.handlers: dict[str, Callable[..., None]] = {}

    def isconnected(self) -> bool:
        return True

    def register_text_stream_handler(self, topic: str, handler: Callable[..., None]) -> None:
        self.handlers[topic] = handler

    def unregister_text_stream_handler(self, topic: str) -> None:
        del self.handlers[topic]

    async def set_attributes(self, attributes: dict[str, str]) -> None:
        self.attributes.update(attributes)
        self.attributes_set.set()

    async def publish_track(self, track: rtc.LocalAudioTrack, options: object) -> "StubRoom":
        await self.published.put(track.name)
        return self

    async def wait_for_subscription(self) -> None:
        """As the publication that it is as well."""

    async def send_text(self, text: str, *, topic: str) -> None:
        await self.sent.put((topic, text))


class StubJob:
    def __init__(self, metadata: str = "") -> None:
        self.room = StubRoom()
        self.job = SimpleNamespace(metadata=metadata)
        self.proc = SimpleNamespace(userdata={"vad": None})
        self.shutdown_callbacks: list[Callable[[], Awaitable[None]]] = []
        self.shutdown_reason: str | None = None
        self.room_deleted = False
        self.connected = False

    def add_shutdown_callback(self, callback: Callable[[], Awaitable[None]]) -> None:
        self.shutdown_callbacks.append(callback)

    def shutdown(self, reason: str) -> None:
        self.shutdown_reason = reason

    def is_fake_job(self) -> bool:
        return False

    async def connect(self) -> None:
        self.connected = True

    async def wait_for_participant(self) -> Any:
        self.connected = True
        return next(iter(self.room.remote_participants.values()))

    async def delete_room(self) -> None:
        self.room_deleted = True

    async def finish(self) -> None:
        for callback in self.shutdown_callbacks:
            await callback()
