"""One caller's audio in, transcripts out: interim, preflight and final, in order.

What has been decoded ahead of the end of an utterance is its final text when no speech followed,
so that a final usually costs nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from speech_server.errors import EngineFailed, Overloaded, ShuttingDown, SpeechError
from speech_server.stt.batcher import Batcher, Job, Priority, Superseded
from speech_server.stt.engine import Pcm, Transcript, Utterance
from speech_server.stt.interim_text import InterimText
from speech_server.stt.segmenter import Segmenter
from speech_server.stt.utterance import (
    Close,
    Closed,
    Event,
    Interim,
    Preflight,
    Revision,
    SilenceAfterSpeech,
    SpeechStarted,
    UtteranceAudio,
)
from speech_server.stt.vad import WINDOW_SAMPLES

logger = logging.getLogger(__name__)

_OUTBOX_EVENTS: Final = 64
"""Events that may wait for a slow reader; beyond that, `push` waits too."""
_FINALS_AHEAD: Final = 4
"""Finals of one stream that wait for the engine; a caller in real time has one."""
_SLICE_SAMPLES: Final = 8 * WINDOW_SAMPLES
"""Audio taken in one go: other streams get the event loop after at most this much."""


@dataclass(frozen=True, slots=True)
class Transcribed:
    """What was said in an utterance, as far as it is known."""

    kind: Literal["interim", "preflight", "final"]
    transcript: Transcript
    audio: UtteranceAudio
    reason: Close | None = None
    """Why the utterance ended; finals only."""


StreamEvent = SpeechStarted | Transcribed | SilenceAfterSpeech


@dataclass(frozen=True, slots=True)
class _PendingFinal:
    job: Job | None
    """None where nothing was said."""
    closed: Closed


class TranscriptStream:
    """Feeds one segmenter and asks the batcher for text.

    One task pushes, one task reads `events`; when the reader is slow, `push` waits.

    Args:
        batcher: the engine shared by all streams.
        segmenter: cuts this stream's audio.
        language: BCP 47 tag, or None to let the engine decide.
        prompt: words that are likely to occur, for engines that can use them.
    """

    def __init__(
        self,
        batcher: Batcher,
        segmenter: Segmenter,
        *,
        language: str | None = None,
        prompt: str | None = None,
    ) -> None:
        self._batcher = batcher
        self._segmenter = segmenter
        self._language = language
        self._prompt = prompt
        self._outbox: asyncio.Queue[
            SpeechStarted | Transcribed | SilenceAfterSpeech | _PendingFinal | None
        ] = asyncio.Queue(_OUTBOX_EVENTS)
        self._interim_text = InterimText()
        self._jobs: dict[Revision, Job] = {}
        self._finals: dict[Job, None] = {}
        """Those not read yet, oldest first."""
        self._deliveries: set[asyncio.Task[None]] = set()

    async def push(self, pcm: Pcm) -> None:
        """Take the next audio.

        Args:
            pcm: float32, (samples,), 16 kHz; any length.

        Raises:
            Overloaded: a final transcript could not even be queued.
            ShuttingDown: the server stops.
        """
        for begin in range(0, len(pcm), _SLICE_SAMPLES):
            await self._act_on(self._segmenter.push(pcm[begin : begin + _SLICE_SAMPLES]))
            self._give_up_outdated_preflights()
            await asyncio.sleep(0)

    async def finalize(self) -> None:
        """End the open utterance here; always answered by one final with `Close.FINALIZE`."""
        await self._act_on(self._segmenter.finalize(Close.FINALIZE))

    async def end(self) -> None:
        """No more audio follows: `events` ends after the last final."""
        await self._act_on(self._segmenter.finalize(Close.END_OF_STREAM))
        await self._outbox.put(None)

    def cancel(self) -> None:
        """Give up all work that is under way; nobody listens any more."""
        for task in self._deliveries:
            task.cancel()
        for job in (*self._jobs.values(), *self._finals):
            job.cancel()

    async def events(self) -> AsyncIterator[StreamEvent]:
        """What happens in the stream, in order, until `end`.

        Raises:
            EngineFailed: the model failed on a final.
            ShuttingDown: the server stops.
        """
        while (item := await self._outbox.get()) is not None:
            if not isinstance(item, _PendingFinal):
                yield item
                continue
            transcript = Transcript("")
            if item.job is not None:
                transcript = await item.job
                self._finals.pop(item.job, None)
            yield Transcribed("final", transcript, item.closed.audio, item.closed.reason)

    async def _act_on(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Interim(audio):
                    self._speculate("interim", audio)
                case Preflight(audio):
                    self._speculate("preflight", audio)
                case Closed():
                    await self._await_room_for_a_final()
                    await self._outbox.put(_PendingFinal(self._final_job(event), event))
                case SpeechStarted() | SilenceAfterSpeech():
                    await self._outbox.put(event)

    async def _await_room_for_a_final(self) -> None:
        """Slow down a sender faster than real time, before its finals fill everybody's queue."""
        waiting = [job for job in self._finals if not job.done]
        if len(waiting) >= _FINALS_AHEAD:
            with suppress(SpeechError):  # told to whoever reads that final
                await waiting[0]

    def _speculate(self, kind: Literal["interim", "preflight"], audio: UtteranceAudio) -> None:
        priority = Priority.INTERIM if kind == "interim" else Priority.PREFLIGHT
        try:
            job = self._submit(audio, priority)
        except Overloaded:
            return  # a courtesy, not a promise: the final will still be made
        self._jobs = {r: j for r, j in self._jobs.items() if not j.done}
        self._jobs[audio.revision] = job
        delivery = asyncio.create_task(self._deliver(kind, audio, job))
        self._deliveries.add(delivery)
        delivery.add_done_callback(self._deliveries.discard)

    async def _deliver(
        self, kind: Literal["interim", "preflight"], audio: UtteranceAudio, job: Job
    ) -> None:
        try:
            transcript = await job
        except (Superseded, EngineFailed, ShuttingDown):
            return  # the final is decoded afresh, or refused
        now = self._segmenter.revision
        if now.utterance != audio.revision.utterance or not transcript.text:
            return
        if now != audio.revision:
            kind = "interim"  # the caller went on: no longer a candidate for the end
        shown = self._interim_text.show(now.utterance, transcript.text)
        if kind == "interim" and shown != transcript.text:
            transcript = replace(transcript, text=shown, words=None)
        if not self._outbox.full():
            self._outbox.put_nowait(Transcribed(kind, transcript, audio))

    def _give_up_outdated_preflights(self) -> None:
        """Take out what waits for the engine as a candidate for the end, when speech went on."""
        now = self._segmenter.revision
        for revision, job in self._jobs.items():
            if job.waiting and job.priority is Priority.PREFLIGHT and revision != now:
                job.cancel()

    def _final_job(self, closed: Closed) -> Job | None:
        job = self._jobs.pop(closed.audio.revision, None)
        for stale in self._jobs.values():
            stale.cancel()
        self._jobs = {}
        if not closed.audio.pcm.size:
            return None
        if job is None or job.failed:
            job = self._submit(closed.audio, Priority.FINAL)
        job.promote(Priority.FINAL)
        self._finals[job] = None
        return job

    def _submit(self, audio: UtteranceAudio, priority: Priority) -> Job:
        utterance = Utterance(audio.pcm, self._language, self._prompt)
        return self._batcher.submit(utterance, stream=self, priority=priority)
