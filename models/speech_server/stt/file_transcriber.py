"""A whole file to text: decoded, cut at its pauses, transcribed piece by piece in order."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from speech_server.audio.decode import AudioDecoder
from speech_server.stt.batcher import Job, Priority
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm, Transcript, Utterance
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.utterance import Close, Closed, Event, UtteranceAudio
from speech_server.stt.vad import SileroVoiceActivity

_ENDPOINTING_S: Final = 0.5
"""Silence that ends an utterance of a file, seconds."""
_SLICE_SAMPLES: Final = 10 * SAMPLE_RATE_HZ
"""Audio searched for speech in one go, off the event loop."""
_JOBS_AHEAD: Final = 4
"""Pieces of one file that wait or run at once: no more than the recogniser counts for a place."""


@dataclass(frozen=True, slots=True)
class FileSegment:
    """One utterance of a file."""

    transcript: Transcript
    audio: UtteranceAudio

    @property
    def start_s(self) -> float:
        """When it begins in the file, seconds; 0.1 s before the first sound."""
        return self.audio.start / SAMPLE_RATE_HZ

    @property
    def end_s(self) -> float:
        """When its last sound ends in the file, seconds."""
        return self.audio.revision.speech_end / SAMPLE_RATE_HZ


class FileTranscriber:
    """Transcribes files behind the live streams.

    Args:
        recogniser: the engine shared with the streams.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        settings = recogniser.settings
        self._batcher = recogniser.batcher
        self._cutting = SegmenterSettings(
            preflight_silence_s=None,
            interim_interval_s=None,
            endpointing_s=_ENDPOINTING_S,
            max_utterance_s=settings.stt_max_utterance_s,
        )
        self._decoder = AudioDecoder(settings.stt_upload_max_s, settings.decode_timeout_s)

    async def decode(self, data: bytes) -> Pcm:
        """Decode a file; see `AudioDecoder.decode`."""
        return await self._decoder.decode(data)

    async def segments(
        self, pcm: Pcm, language: str | None = None, prompt: str | None = None
    ) -> AsyncIterator[FileSegment]:
        """Transcribe, utterance by utterance.

        Args:
            pcm: float32, (samples,), 16 kHz.
            language: BCP 47 tag, or None to let the engine decide.
            prompt: words that are likely to occur, for engines that can use them.

        Raises:
            EngineFailed: the model failed on a piece.
            Overloaded: too much work waits.
            ShuttingDown: the server stops.
        """
        file = object()  # an identity: pieces of one file share a turn in the batcher
        ahead: deque[tuple[Job, UtteranceAudio]] = deque()
        try:
            async for audio in _utterances(pcm, self._cutting):
                utterance = Utterance(audio.pcm, language, prompt)
                job = self._batcher.submit(utterance, stream=file, priority=Priority.FILE)
                ahead.append((job, audio))
                if len(ahead) >= _JOBS_AHEAD:
                    yield await _finished(ahead)
            while ahead:
                yield await _finished(ahead)
        finally:
            for job, _ in ahead:
                job.cancel()


async def _finished(ahead: deque[tuple[Job, UtteranceAudio]]) -> FileSegment:
    job, audio = ahead[0]
    transcript = await job
    ahead.popleft()
    return FileSegment(transcript, audio)


async def _utterances(pcm: Pcm, cutting: SegmenterSettings) -> AsyncIterator[UtteranceAudio]:
    segmenter = Segmenter(SileroVoiceActivity(), cutting)
    for begin in range(0, len(pcm), _SLICE_SAMPLES):
        piece = pcm[begin : begin + _SLICE_SAMPLES]
        for audio in _closed(await asyncio.to_thread(segmenter.push, piece)):
            yield audio
    for audio in _closed(segmenter.finalize(Close.END_OF_STREAM)):
        yield audio


def _closed(events: list[Event]) -> list[UtteranceAudio]:
    return [event.audio for event in events if isinstance(event, Closed) and event.audio.pcm.size]
