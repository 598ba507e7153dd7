"""The answers of `/v1/audio/transcriptions`: json, text, srt, vtt and verbose_json.

Source of field names: OpenAI's API as implemented by `openai` 3.52 (types/audio). Fields that the
engine cannot know (log probabilities, token ids, word times) are left out.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Literal

from pydantic import BaseModel, ConfigDict

from speech_server.protocol.rest import TranscriptionFormat
from speech_server.stt.file_transcriber import FileSegment


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class DurationUsage(_Answer):
    """What was used up: audio."""

    type: Literal["duration"] = "duration"
    seconds: float
    """Length of the file."""


class TranscriptionJson(_Answer):
    """`response_format=json`."""

    text: str
    usage: DurationUsage


class TranscriptionSegment(_Answer):
    """One utterance of the file."""

    id: int
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    text: str


class TranscriptionWord(_Answer):
    """One word of the file."""

    word: str
    start: float
    """Seconds."""
    end: float
    """Seconds."""


class TranscriptionVerbose(_Answer):
    """`response_format=verbose_json`."""

    task: Literal["transcribe"] = "transcribe"
    language: str
    """BCP 47 tag; empty where the engine does not know it."""
    duration: float
    """Seconds."""
    text: str
    segments: tuple[TranscriptionSegment, ...] | None = None
    words: tuple[TranscriptionWord, ...] | None = None
    usage: DurationUsage


class TranscriptTextDelta(_Answer):
    """More text of a streamed transcription."""

    type: Literal["transcript.text.delta"] = "transcript.text.delta"
    delta: str


class TranscriptTextDone(_Answer):
    """The whole text of a streamed transcription; its last event."""

    type: Literal["transcript.text.done"] = "transcript.text.done"
    text: str
    usage: DurationUsage


def full_text(segments: Sequence[FileSegment]) -> str:
    """All that was said, as one line."""
    return " ".join(s.transcript.text for s in segments if s.transcript.text)


def verbose(
    segments: Sequence[FileSegment], duration_s: float, granularities: frozenset[str]
) -> TranscriptionVerbose:
    """The `verbose_json` answer.

    Args:
        segments: the utterances.
        duration_s: length of the file, seconds.
        granularities: `segment`, `word` or both.
    """
    spoken = [s for s in segments if s.transcript.text]
    listed = tuple(
        TranscriptionSegment(
            id=number,
            start=round(s.start_s, 3),
            end=round(s.end_s, 3),
            text=s.transcript.text,
        )
        for number, s in enumerate(spoken)
    )
    words = tuple(
        TranscriptionWord(
            word=word.text,
            start=round(s.audio.stream_s(word.start_s), 3),
            end=round(s.audio.stream_s(word.end_s), 3),
        )
        for s in spoken
        for word in s.transcript.words or ()
    )
    return TranscriptionVerbose(
        language=next((s.transcript.language for s in spoken if s.transcript.language), ""),
        duration=round(duration_s, 3),
        text=full_text(segments),
        segments=listed if "segment" in granularities else None,
        words=words if "word" in granularities else None,
        usage=DurationUsage(seconds=round(duration_s, 3)),
    )


def subtitles(segments: Sequence[FileSegment], kind: TranscriptionFormat) -> str:
    """The `srt` or `vtt` answer: one caption an utterance."""
    mark = "," if kind == "srt" else "."
    captions = []
    for number, s in enumerate((s for s in segments if s.transcript.text), 1):
        times = f"{_clock(s.start_s, mark)} --> {_clock(s.end_s, mark)}"
        # An empty line would end the caption, and "-->" would read as its times.
        text = re.sub("--+>", "->", " ".join(s.transcript.text.split()))
        if kind == "vtt":
            text = escape(text, quote=False)
        heading = f"{number}\n" if kind == "srt" else ""
        captions.append(f"{heading}{times}\n{text}\n")
    return ("WEBVTT\n\n" if kind == "vtt" else "") + "\n".join(captions)


def _clock(time_s: float, mark: str) -> str:
    milliseconds = round(time_s * 1000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds, milliseconds = divmod(milliseconds, 1000)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{mark}{milliseconds:03d}"
