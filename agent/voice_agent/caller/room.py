"""One LiveKit room as the caller sees it: joins, sends, listens, and says when something changed.

Everything that LiveKit tells us ends here as plain state (`agent_state`, `agent_left`, `lost`) or
in the ear, the transcript and the reports. The conversation waits on that state with `wait_until`.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine

import numpy as np
from livekit import rtc
from livekit.rtc.participant import PublishTrackError
from pydantic import ValidationError

from voice_agent.caller.ear import Ear
from voice_agent.caller.errors import CallFailed, CallFailure
from voice_agent.caller.microphone import Microphone
from voice_agent.caller.recording import Recording
from voice_agent.caller.sound import FRAME_SAMPLES, RATE_HZ, Pcm16
from voice_agent.caller.token_client import JoinTicket
from voice_agent.caller.transcript import Speaker, Transcript
from voice_agent.turn_report import TURN_TOPIC, TurnReport

logger = logging.getLogger(__name__)

# Importing these from livekit.agents costs a second and 100 MB that a caller has no use for.
# Source: livekit-agents 1.8.9, livekit/agents/types.py; a test compares them.
AGENT_STATE_ATTRIBUTE = "lk.agent.state"
SEGMENT_ID_ATTRIBUTE = "lk.segment_id"
FINAL_ATTRIBUTE = "lk.transcription_final"
TRACK_ID_ATTRIBUTE = "lk.transcribed_track_id"
CHAT_TOPIC = "lk.chat"
TRANSCRIPTION_TOPIC = "lk.transcription"

CONNECT_TIMEOUT_S = 15.0
"""Longest wait for the media connection, seconds."""
MAX_STREAM_CHARS = 64 * 1024
"""A longer text from the room is cut here."""
_TICK_S = 0.1
"""How often a condition that depends on the clock is looked at when nothing arrives, seconds."""


class AgentRoom:
    """The room, joined as a caller."""

    def __init__(self, recording: Recording | None = None) -> None:
        self.ear = Ear()
        self.transcript = Transcript()
        self.microphone = Microphone(self._send)
        self.reports: list[tuple[float, TurnReport]] = []
        """The agent's turn reports, each with the moment of its arrival."""
        self.agent_identity: str | None = None
        """The agent's identity, kept when it has left; None before it came."""
        self.agent_states: list[tuple[float, str]] = []
        """LiveKit's agent states, each with the moment at which it was told."""
        self.lost: str | None = None
        """Why the connection ended, when it was not we who ended it."""
        self._recording = recording
        self._room = rtc.Room()
        self._source = rtc.AudioSource(RATE_HZ, 1, queue_size_ms=0)
        self._track_sid = ""
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The room's name."""
        return self._room.name

    @property
    def agent_state(self) -> str | None:
        """LiveKit's agent state (`listening`, `thinking`, `speaking`, …); None when not told."""
        agent = self._agent()
        return agent.attributes.get(AGENT_STATE_ATTRIBUTE) if agent else None

    @property
    def agent_gone(self) -> bool:
        """The agent was here and is no longer, or the room itself is gone."""
        return self.lost is not None or (self.agent_identity is not None and self._agent() is None)

    async def join(self, ticket: JoinTicket) -> None:
        """Connect, publish the microphone and start sending its noise floor.

        Raises:
            CallFailed: livekit-server cannot be reached or refuses the token.
        """
        self._room.on("participant_connected", self._on_participant)
        self._room.on("participant_disconnected", lambda _: self._changed.set())
        self._room.on("participant_attributes_changed", self._on_attributes)
        self._room.on("track_subscribed", self._on_track)
        self._room.on("disconnected", self._on_disconnected)
        self._room.register_text_stream_handler(TRANSCRIPTION_TOPIC, self._on_transcription)
        self._room.register_text_stream_handler(TURN_TOPIC, self._on_report)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self._room.connect(ticket.server_url, ticket.participant_token)
                publication = await self._room.local_participant.publish_track(
                    rtc.LocalAudioTrack.create_audio_track("microphone", self._source),
                    rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE),
                )
        except (rtc.ConnectError, PublishTrackError, TimeoutError) as error:
            raise CallFailed(
                CallFailure.CONNECT_FAILED,
                f"could not join the room at {ticket.server_url}: "
                + (str(error) or f"no connection within {CONNECT_TIMEOUT_S:.0f} s"),
            ) from None
        self._track_sid = publication.sid
        for participant in self._room.remote_participants.values():
            self._on_participant(participant)
        self._spawn(self.microphone.run())

    async def leave(self) -> None:
        """Hang up; safe at any time, also twice."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._room.disconnect()
        await self._source.aclose()

    async def send_text(self, text: str) -> float:
        """Type `text` to the agent; returns the moment at which it was sent."""
        sent_s = time.monotonic()
        await self._room.local_participant.send_text(text, topic=CHAT_TOPIC)
        return sent_s

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for `condition`, looked at whenever something changed; False when time ran out."""
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return False
            self._changed.clear()
            try:
                async with asyncio.timeout(min(left_s, _TICK_S)):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return True

    # what LiveKit tells us

    def _agent(self) -> rtc.RemoteParticipant | None:
        if self.agent_identity is None:
            return None
        return self._room.remote_participants.get(self.agent_identity)

    def _on_participant(self, participant: rtc.RemoteParticipant) -> None:
        if participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT:
            self.agent_identity = participant.identity
            self._changed.set()

    def _on_attributes(self, changed: dict[str, str], participant: rtc.Participant) -> None:
        state = changed.get(AGENT_STATE_ATTRIBUTE)
        if state is not None and participant.identity == self.agent_identity:
            self.agent_states.append((time.monotonic(), state))
        self._changed.set()

    def _on_disconnected(self, reason: rtc.DisconnectReason.ValueType) -> None:
        self.lost = rtc.DisconnectReason.Name(reason).lower().replace("_", " ")
        self._changed.set()

    def _on_track(
        self,
        track: rtc.Track,
        _publication: rtc.RemoteTrackPublication,
        participant: rtc.RemoteParticipant,
    ) -> None:
        agents = rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
        if participant.kind == agents and track.kind == rtc.TrackKind.KIND_AUDIO:
            self._spawn(self._listen(track))

    def _on_transcription(self, reader: rtc.TextStreamReader, identity: str) -> None:
        self._spawn(self._read_transcription(reader, identity))

    def _on_report(self, reader: rtc.TextStreamReader, _identity: str) -> None:
        self._spawn(self._read_report(reader))

    # tasks

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("part of the call failed", exc_info=error)
            self.lost = self.lost or f"the caller itself failed ({error})"
            self._changed.set()

    async def _send(self, frame: Pcm16, at_s: float) -> None:
        if self._recording is not None:
            self._recording.add_caller(frame, at_s)
        await self._source.capture_frame(rtc.AudioFrame(frame.tobytes(), RATE_HZ, 1, FRAME_SAMPLES))

    async def _listen(self, track: rtc.Track) -> None:
        stream = rtc.AudioStream(track, sample_rate=RATE_HZ, num_channels=1, frame_size_ms=10)
        try:
            async for event in stream:
                arrived_s = time.monotonic()
                frame = np.frombuffer(event.frame.data, np.int16)
                self.ear.hear(frame, arrived_s)
                if self._recording is not None:
                    self._recording.add_agent(frame, arrived_s)
                self._changed.set()
        finally:
            await stream.aclose()

    async def _read_transcription(self, reader: rtc.TextStreamReader, identity: str) -> None:
        attributes = reader.info.attributes or {}
        segment_id = attributes.get(SEGMENT_ID_ATTRIBUTE, reader.info.stream_id)
        ours = (
            attributes.get(TRACK_ID_ATTRIBUTE) == self._track_sid
            or identity == self._room.local_participant.identity
        )
        speaker = Speaker.CALLER if ours else Speaker.AGENT
        final = attributes.get(FINAL_ATTRIBUTE) == "true"
        text = ""
        try:
            async for chunk in reader:
                text = (text + chunk)[:MAX_STREAM_CHARS]
                self.transcript.update(segment_id, speaker, text, final=final)
        except rtc.StreamError:
            logger.debug("a transcription stream was cut off")
        finally:
            reader.close()
        self._changed.set()

    async def _read_report(self, reader: rtc.TextStreamReader) -> None:
        text = ""
        try:
            async for chunk in reader:
                text = (text + chunk)[:MAX_STREAM_CHARS]
            report = TurnReport.model_validate_json(text)
        except (rtc.StreamError, ValidationError):
            logger.warning("a turn report could not be read")
            return
        finally:
            reader.close()
        self.reports.append((time.monotonic(), report))
        self._changed.set()
