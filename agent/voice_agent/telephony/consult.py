"""The side talk of a warm transfer: one person in the room hears us, and the caller does not.

LiveKit's own server cannot move a participant between rooms (only its cloud can), so the person is
called into the caller's room, and who hears whom is settled there: our voice to the caller and our
words to the person are two tracks with one listener each, and the two of them hear each other only
when they are joined. Source: livekit-server 1.13.5, pkg/service/roommanager.go, MoveParticipant.
"""

from typing import Final, Self

from livekit import api, rtc
from livekit.agents import tts
from livekit.api.room_service import RoomService

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

    async def __aenter__(self) -> Self:
        local = self._room.local_participant
        for_caller = list(local.track_publications)
        self._allow({self._caller: for_caller})
        track = rtc.LocalAudioTrack.create_audio_track("consult", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_UNKNOWN)
        self._track = await local.publish_track(track, options)
        self._allow({self._caller: for_caller, self._person: [self._track.sid]})
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._room.isconnected():
            return
        if self._track is not None:
            await self._room.local_participant.unpublish_track(self._track.sid)
        self._room.local_participant.set_track_subscription_permissions(allow_all_participants=True)

    async def keep_apart(self) -> None:
        """Let caller and person not hear each other; again whenever either has a new track."""
        await self._set_heard(False)

    async def join(self) -> None:
        """Let caller and person hear each other."""
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
