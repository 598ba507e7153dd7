"""The side talk of a warm transfer: one person in the room hears us, and the caller does not.

LiveKit's own server cannot move a participant between rooms (only its cloud can), so the person is
called into the caller's room, and who hears whom is settled there: our voice to the caller and our
words to the person are two tracks with one listener each, and the two of them hear each other only
when they are joined. Source: livekit-server 1.13.5, pkg/service/roommanager.go, MoveParticipant.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any, Final, Self

import aiohttp
from livekit import api, rtc
from livekit.agents import tts
from livekit.api.room_service import RoomService

logger = logging.getLogger(__name__)

AGAIN_S: Final = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Pauses before caller and person are parted once more after each change, seconds. livekit-sip
subscribes by itself to whatever comes, and to all that is there when a call is answered; the server
forgets a parting that came before. Sources: livekit/sip v1.8.0, pkg/sip/room.go, Subscribe;
livekit-server 1.13.5, pkg/rtc/subscriptionmanager.go, UnsubscribeFromTrack."""

_CHANGES: Final = ("participant_connected", "participant_attributes_changed", "track_published")
"""A telephone has come, has been answered, has a new track."""
_TROUBLE: Final = (api.ServerError, aiohttp.ClientError, TimeoutError)
_RATE_HZ: Final = 24_000
_QUEUE_MS: Final = 400


class Consult:
    """`async with Consult(...)`: the person is apart from the caller until `join`, or the end.

    Args:
        rooms: LiveKit's room API.
        room: The room of the call.
        caller: Identity of the caller.
        person: Identity that the person will have.
    """

    def __init__(self, rooms: RoomService, room: rtc.Room, caller: str, person: str) -> None:
        self._rooms = rooms
        self._room = room
        self._caller = caller
        self._person = person
        self._source = rtc.AudioSource(_RATE_HZ, 1, queue_size_ms=_QUEUE_MS)
        self._track: rtc.LocalTrackPublication | None = None
        self._changed = asyncio.Event()
        self._parting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        local = self._room.local_participant
        for_caller = list(local.track_publications)
        self._allow({self._caller: for_caller})
        track = rtc.LocalAudioTrack.create_audio_track("consult", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_UNKNOWN)
        self._track = await local.publish_track(track, options)
        self._allow({self._caller: for_caller, self._person: [self._track.sid]})
        for change in _CHANGES:
            self._room.on(change, self._on_change)
        self._parting = asyncio.create_task(self._part_again())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop_parting()
        if not self._room.isconnected():
            return
        if self._track is not None:
            await self._room.local_participant.unpublish_track(self._track.sid)
        self._room.local_participant.set_track_subscription_permissions(allow_all_participants=True)

    async def keep_apart(self) -> None:
        """Let caller and person not hear each other, and see to it that it stays so."""
        await self._set_heard(False)
        self._changed.set()

    async def join(self) -> None:
        """Let caller and person hear each other."""
        await self._stop_parting()
        await self._set_heard(True)

    async def say(self, words: str, voice: tts.TTS) -> None:
        """Say something to the person alone; returns when it has been heard.

        Raises:
            livekit.agents.APIError: the voice failed.
        """
        async with voice.synthesize(words) as speech:
            async for piece in speech:
                await self._source.capture_frame(piece.frame)
        await self._source.wait_for_playout()

    def hush(self) -> None:
        """Stop what is being said."""
        self._source.clear_queue()

    def _allow(self, tracks: dict[str, list[str]]) -> None:
        self._room.local_participant.set_track_subscription_permissions(
            allow_all_participants=False,
            participant_permissions=[
                rtc.ParticipantTrackPermission(
                    participant_identity=identity, allow_all=False, allowed_track_sids=sids
                )
                for identity, sids in tracks.items()
            ],
        )

    def _on_change(self, *_: Any) -> None:
        self._changed.set()

    async def _part_again(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            for pause_s in AGAIN_S:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause_s)
                    break
                try:
                    await self._set_heard(False)
                except _TROUBLE as error:
                    # most often one of the two has just left
                    logger.warning("not parted", extra={"error": type(error).__name__})

    async def _stop_parting(self) -> None:
        for change in _CHANGES:
            self._room.off(change, self._on_change)
        if self._parting is not None:
            self._parting.cancel()
            await asyncio.gather(self._parting, return_exceptions=True)
            self._parting = None

    async def _set_heard(self, heard: bool) -> None:
        for listener, speaker in ((self._caller, self._person), (self._person, self._caller)):
            participant = self._room.remote_participants.get(speaker)
            if participant is None or listener not in self._room.remote_participants:
                continue
            sids = list(participant.track_publications)
            if sids:
                await self._rooms.update_subscriptions(
                    api.UpdateSubscriptionsRequest(
                        room=self._room.name, identity=listener, track_sids=sids, subscribe=heard
                    )
                )
