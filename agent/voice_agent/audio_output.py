"""The agent's voice on its way into the room: falls silent at once, goes on where it stopped.

The framework's own output plays up to 250 ms more when it is paused, and drops what was in its
queue: the agent talks into the caller's words, and misses some of its own afterwards.
"""

import asyncio
import logging
import time
from typing import Final

import numpy as np
from livekit import rtc
from livekit.agents import utils
from livekit.agents.voice import io

logger = logging.getLogger(__name__)

_QUEUE_MS: Final = 200
"""Audio that WebRTC holds for us, milliseconds: how long this process may be busy elsewhere before
the caller hears a gap. It does not delay a pause, which empties it."""
_LONGEST_FRAME_S: Final = 0.05
"""Each frame costs a call into the native library."""
_SHORTEST_FRAME_S: Final = 0.01
"""What WebRTC sends in one piece; less waits for more, or for the end."""
_FADE_S: Final = 0.005
"""Over which the voice comes back, seconds: a hard edge clicks."""
_SAMPLE_BYTES: Final = 2


class RoomAudioOutput(io.AudioOutput):
    """Plays a session's speech on a track of its own, one segment after the other.

    Set it as `session.output.audio` before the session starts.

    Args:
        room: the room of the call; connected by the time of `open`.
        sample_rate_hz: of the frames captured, mono, and of the track.
    """

    def __init__(self, room: rtc.Room, sample_rate_hz: int) -> None:
        super().__init__(
            label="room",
            capabilities=io.AudioOutputCapabilities(pause=True),
            sample_rate=sample_rate_hz,
        )
        self._room = room
        self._rate_hz = sample_rate_hz
        self._source = rtc.AudioSource(sample_rate_hz, 1, queue_size_ms=_QUEUE_MS)
        self._segment = _Segment(sample_rate_hz)
        self._between_segments = asyncio.Event()
        self._between_segments.set()
        self._changed = asyncio.Event()
        """Something that the player may be waiting for."""
        self._heard = False
        """Whether anybody hears the track."""
        self._paused = False
        self._closed = False
        self._player: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Publish the track and play from when the caller hears it.

        Raises:
            rtc.PublishTrackError: the room takes no track from us.
        """
        self._player = asyncio.create_task(self._play())
        track = rtc.LocalAudioTrack.create_audio_track("agent", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        publication = await self._room.local_participant.publish_track(track, options)
        await publication.wait_for_subscription()
        self._heard = True
        self._changed.set()

    async def aclose(self) -> None:
        """Stop; what is left is not heard, and what comes is dropped."""
        self._closed = True
        if self._player is not None:
            await utils.aio.cancel_and_wait(self._player)
        if self._segment.captured:
            self._end_segment(interrupted=True)
        await self._source.aclose()

    # --- as an `AudioOutput` ---

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        """Take the next audio of the segment, as far ahead of real time as it comes."""
        await self._between_segments.wait()
        if self._closed:
            return
        await super().capture_frame(frame)
        self._segment.capture(frame)
        self._changed.set()

    def flush(self) -> None:
        """The segment is complete."""
        super().flush()
        if self._segment.captured:
            self._segment.complete = True
            self._between_segments.clear()
            self._changed.set()

    def clear_buffer(self) -> None:
        """Fall silent for good: the segment ends where the caller stopped hearing it."""
        if self._segment.captured:
            self._fall_silent()
            self._segment.cleared = True
            self._changed.set()

    def pause(self) -> None:
        """Fall silent; nothing is lost."""
        super().pause()
        if not self._paused:
            self._paused = True
            self._fall_silent()

    def resume(self) -> None:
        """Go on with the sample after the last one that the caller heard."""
        super().resume()
        self._paused = False
        self._changed.set()

    # --- playing ---

    def _fall_silent(self) -> None:
        """Take back what is not played yet."""
        if not self._segment.cleared:
            self._segment.rewind(round(self._source.queued_duration * self._rate_hz))
        self._source.clear_queue()

    @utils.log_exceptions(logger=logger)
    async def _play(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._play_on()

    async def _play_on(self) -> None:
        """Play until there is nothing more to do before something changes."""
        while True:
            segment = self._segment
            if segment.cleared:
                if segment.complete:
                    self._end_segment(interrupted=True)
                return
            if self._paused or not self._heard:
                return
            if (frame := segment.next_frame()) is not None:
                if not segment.started:
                    segment.started = True
                    self.on_playback_started(created_at=time.time())
                await self._source.capture_frame(frame)
            elif segment.complete:
                # ends early when the queue is emptied: then there is more to play, or none wanted
                await self._source.wait_for_playout()
                if segment.all_taken and not segment.cleared:
                    self._end_segment(interrupted=False)
            else:
                return

    def _end_segment(self, *, interrupted: bool) -> None:
        ended, self._segment = self._segment, _Segment(self._rate_hz)
        self._between_segments.set()
        self.on_playback_finished(
            playback_position=ended.taken / self._rate_hz, interrupted=interrupted
        )


class _Segment:
    """Audio that is played as a whole, unless it is cleared: how far it has come.

    Args:
        rate_hz: sample rate.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._longest = round(_LONGEST_FRAME_S * rate_hz)
        self._shortest = round(_SHORTEST_FRAME_S * rate_hz)
        self._pcm = bytearray()
        self._fades_in = False
        self.captured = 0
        """Samples captured."""
        self.taken = 0
        """Samples of these that were handed over to be played."""
        self.started = False
        self.complete = False
        """No more audio follows."""
        self.cleared = False
        """What was not played never will be."""

    @property
    def all_taken(self) -> bool:
        """Whether all of it was handed over."""
        return self.taken == self.captured

    def capture(self, frame: rtc.AudioFrame) -> None:
        """Append a frame; nothing once cleared."""
        if not self.cleared:
            self._pcm += frame.data
            self.captured += frame.samples_per_channel

    def next_frame(self) -> rtc.AudioFrame | None:
        """Take what is to be played next; None where it is too little yet, or nothing."""
        count = min(self.captured - self.taken, self._longest)
        if not self.complete:
            count -= count % self._shortest
        if not count:
            return None
        start = self.taken * _SAMPLE_BYTES
        self.taken += count
        pcm = np.frombuffer(bytes(self._pcm[start : start + count * _SAMPLE_BYTES]), np.int16)
        if self._fades_in:
            self._fades_in = False
            pcm = _faded_in(pcm, round(_FADE_S * self._rate_hz))
        return rtc.AudioFrame(pcm.tobytes(), self._rate_hz, 1, count)

    def rewind(self, count: int) -> None:
        """Give back the last samples taken, to be played later."""
        self.taken -= min(count, self.taken)
        self._fades_in = self.taken > 0


def _faded_in(pcm: np.ndarray, count: int) -> np.ndarray:
    ramp = np.ones(len(pcm), np.float32)
    ramp[:count] = np.linspace(0.0, 1.0, count, dtype=np.float32)[: len(pcm)]
    return np.rint(pcm * ramp).astype(np.int16)
