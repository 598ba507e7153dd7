"""A room with telephones in it, and a session that says things, recorded."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from livekit import rtc
from livekit.agents.voice import SpeechHandle

SIP = rtc.ParticipantKind.PARTICIPANT_KIND_SIP
STANDARD = rtc.ParticipantKind.PARTICIPANT_KIND_STANDARD


def participant(
    identity: str = "caller",
    *,
    kind: rtc.ParticipantKind.ValueType = SIP,
    name: str = "",
    **attributes: str,
) -> Any:
    return SimpleNamespace(
        identity=identity,
        kind=kind,
        name=name,
        attributes={f"sip.{key}": value for key, value in attributes.items()},
        track_publications={f"TR_{identity}": SimpleNamespace(sid=f"TR_{identity}")},
    )


class Local:
    def __init__(self) -> None:
        self.track_publications = {"TR_agent": SimpleNamespace(sid="TR_agent")}
        self.permissions: list[dict[str, list[str]] | None] = []
        """Who may hear what, newest last; None: everybody everything."""
        self.pressed: list[tuple[int, str]] = []
        self.press_error: Exception | None = None
        self.attributes: dict[str, str] = {}

    def set_track_subscription_permissions(
        self, *, allow_all_participants: bool, participant_permissions: Any = ()
    ) -> None:
        self.permissions.append(
            None
            if allow_all_participants
            else {
                permission.participant_identity: list(permission.allowed_track_sids)
                for permission in participant_permissions
            }
        )

    async def publish_track(self, track: Any, options: Any) -> Any:
        publication = SimpleNamespace(sid="TR_consult")
        self.track_publications[publication.sid] = publication
        return publication

    async def unpublish_track(self, sid: str) -> None:
        del self.track_publications[sid]

    async def publish_dtmf(self, *, code: int, digit: str) -> None:
        if self.press_error is not None:
            raise self.press_error
        self.pressed.append((code, digit))

    async def set_attributes(self, attributes: dict[str, str]) -> None:
        self.attributes.update(attributes)


class Room(rtc.EventEmitter[Any]):
    name = "room-1"

    def __init__(self, *participants: Any) -> None:
        super().__init__()
        self.local_participant = Local()
        self.remote_participants = {who.identity: who for who in participants or [participant()]}
        self.connected = True

    def isconnected(self) -> bool:
        return self.connected

    def press(self, keys: str, identity: str = "caller") -> None:
        sender = self.remote_participants.get(identity)
        for key in keys:
            self.emit("sip_dtmf_received", SimpleNamespace(code=0, digit=key, participant=sender))

    def join(self, who: Any) -> None:
        self.remote_participants[who.identity] = who
        self.emit("participant_connected", who)
        for publication in who.track_publications.values():
            self.emit("track_published", publication, who)

    def hang_up(self, identity: str) -> None:
        """The telephone is off the line; its participant stays for a while."""
        who = self.remote_participants[identity]
        who.attributes["sip.callStatus"] = "hangup"
        self.emit("participant_attributes_changed", dict(who.attributes), who)

    def leave(self, identity: str) -> None:
        self.emit("participant_disconnected", self.remote_participants.pop(identity))


class Microphone:
    def __init__(self) -> None:
        self.states: list[bool] = []
        """Whether somebody listens, newest last."""
        self.heard = True

    def set_audio_enabled(self, enabled: bool) -> None:
        self.heard = enabled
        self.states.append(enabled)


class Session(rtc.EventEmitter[Any]):
    """Says words at once; a tone sounds until it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.input = Microphone()
        self.output = SimpleNamespace(audio=SimpleNamespace(sample_rate=24_000))
        self.tts: Any = object()
        self.said: list[str] = []
        self.tones: list[SpeechHandle] = []
        self.away_timer_resets = 0
        self.spoke = asyncio.Event()
        self.interrupted = False

    def say(
        self,
        text: str,
        *,
        audio: AsyncIterator[rtc.AudioFrame] | None = None,
        allow_interruptions: bool = True,
        add_to_chat_ctx: bool = True,
    ) -> SpeechHandle:
        handle = SpeechHandle.create(allow_interruptions=allow_interruptions)
        if audio is not None:
            self.tones.append(handle)
        else:
            self.said.append(text)
            handle._mark_done()
        self.spoke.set()
        return handle

    async def interrupt(self, *, force: bool = False) -> None:
        self.interrupted = True

    def reset_away_timer(self) -> None:
        self.away_timer_resets += 1

    @property
    def tone_sounds(self) -> bool:
        return any(not tone.interrupted for tone in self.tones)
