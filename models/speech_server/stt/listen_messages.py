"""What a stream's events look like on the `/v1/listen` wire."""

from typing import Final
from uuid import NAMESPACE_URL, uuid5

from speech_server.protocol.listen import (
    Alternative,
    Channel,
    ListenWord,
    ModelInfo,
    Results,
    ResultsMetadata,
    SpeechStarted,
    UtteranceEnd,
)
from speech_server.stt.engine import SAMPLE_RATE_HZ, SttEngineInfo, Transcript
from speech_server.stt.listen_query import ListenQuery
from speech_server.stt.stream import StreamEvent, Transcribed
from speech_server.stt.utterance import Close, SilenceAfterSpeech, UtteranceAudio
from speech_server.stt.utterance import SpeechStarted as SpeechStartedEvent

UNKNOWN_CONFIDENCE: Final = 0.0
"""Stands for "not known": LiveKit's client fails on a result without a confidence, averages the
values it gets, and itself starts from 0.0. Source: livekit-plugins-deepgram 1.8.9, stt.py."""
UNKNOWN_WORD_END: Final = -1.0
"""`last_word_end` where no word times are known. Source: Deepgram's UtteranceEnd message."""


def model_uuid(info: SttEngineInfo) -> str:
    """A stable id for a model: the same model has the same id on every server."""
    return str(uuid5(NAMESPACE_URL, f"parley:stt:{info.name}:{info.model}"))


def model_info(info: SttEngineInfo) -> ModelInfo:
    """The model as the dialect names it."""
    return ModelInfo(name=info.model, version="1", arch=info.name)


class ListenMessages:
    """Turns the events of one stream into messages that its client asked for.

    Args:
        query: what the client asked for.
        request_id: id of the stream.
        info: the engine.
    """

    def __init__(self, query: ListenQuery, request_id: str, info: SttEngineInfo) -> None:
        self._query = query
        self._metadata = ResultsMetadata(
            request_id=request_id, model_uuid=model_uuid(info), model_info=model_info(info)
        )
        self._last_word_end = UNKNOWN_WORD_END

    def message(self, event: StreamEvent) -> SpeechStarted | Results | UtteranceEnd | None:
        """The message for an event; None where the client did not ask for it."""
        match event:
            case SpeechStartedEvent(at):
                if self._query.vad_events:
                    return SpeechStarted(timestamp=_seconds(at))
            case SilenceAfterSpeech():
                return UtteranceEnd(last_word_end=self._last_word_end)
            case Transcribed(kind="final"):
                return self._final(event)
            case Transcribed(kind="preflight") if self._query.preflight:
                return self._results(event, preflight=True)
            case Transcribed() if self._query.interim_results:
                return self._results(event)
        return None

    def _final(self, event: Transcribed) -> Results | None:
        nothing_said = not event.audio.pcm.size
        if event.reason is Close.END_OF_STREAM and nothing_said:
            return None
        words = listen_words(event.transcript, event.audio)
        self._last_word_end = words[-1].end if words else UNKNOWN_WORD_END
        return self._results(event)

    def _results(self, event: Transcribed, *, preflight: bool = False) -> Results:
        final = event.kind == "final"
        return Results(
            start=_seconds(event.audio.start),
            duration=_seconds(event.audio.end - event.audio.start),
            is_final=final,
            speech_final=event.reason is Close.ENDPOINT,
            from_finalize=event.reason is Close.FINALIZE,
            preflight=preflight if self._query.preflight else None,
            channel=Channel(alternatives=(alternative(event.transcript, event.audio),)),
            metadata=self._metadata,
        )


def alternative(transcript: Transcript, audio: UtteranceAudio) -> Alternative:
    """One reading of an utterance, with its words where the engine knows their times."""
    confidence = transcript.confidence
    return Alternative(
        transcript=transcript.text,
        words=listen_words(transcript, audio),
        confidence=UNKNOWN_CONFIDENCE if confidence is None else confidence,
        languages=(transcript.language,) if transcript.language else (),
    )


def listen_words(transcript: Transcript, audio: UtteranceAudio) -> tuple[ListenWord, ...]:
    """The words with times in the stream; empty where the engine knows none."""
    return tuple(
        ListenWord(
            word=word.text.strip(".,;:!?\"'").lower(),
            punctuated_word=word.text,
            start=round(audio.stream_s(word.start_s), 3),
            end=round(audio.stream_s(word.end_s), 3),
            confidence=word.confidence,
        )
        for word in transcript.words or ()
    )


def _seconds(samples: int) -> float:
    return round(samples / SAMPLE_RATE_HZ, 3)
