"""`POST /v1/listen`: a file or raw audio in, Deepgram's pre-recorded answer out."""

import time
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from speech_server.errors import BadRequest, PayloadTooLarge
from speech_server.metrics import TTFB
from speech_server.protocol.listen import Alternative, Channel, ListenWord, ModelInfo
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm
from speech_server.stt.file_transcriber import FileSegment, FileTranscriber
from speech_server.stt.incoming_audio import IncomingAudio
from speech_server.stt.listen_messages import (
    UNKNOWN_CONFIDENCE,
    listen_words,
    model_info,
    model_uuid,
)
from speech_server.stt.listen_query import ListenQuery, parse_listen_query
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.upload import LimitedBody, while_connected


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class PrerecordedMetadata(_Answer):
    """What was transcribed, and by what."""

    request_id: str
    created: str
    """ISO 8601."""
    duration: float
    """Seconds."""
    channels: int
    models: tuple[str, ...]
    model_info: dict[str, ModelInfo]


class PrerecordedUtterance(_Answer):
    """One stretch of speech."""

    id: str
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    channel: int
    transcript: str
    confidence: float
    words: tuple[ListenWord, ...]


class PrerecordedResults(_Answer):
    """The text."""

    channels: tuple[Channel, ...]
    utterances: tuple[PrerecordedUtterance, ...] | None = None
    """Only where asked for."""


class PrerecordedAnswer(_Answer):
    """Answer of `POST /v1/listen`."""

    metadata: PrerecordedMetadata
    results: PrerecordedResults


def prerecorded_router(recogniser: Recogniser, files: FileTranscriber) -> APIRouter:
    """The route, bound to a recogniser."""
    router = APIRouter()

    @router.post("/v1/listen", response_model_exclude_none=True)
    async def listen(request: Request) -> PrerecordedAnswer:
        """Transcribe the body: a file, or raw audio where `encoding` and `sample_rate` say so."""
        began = time.monotonic()
        settings = recogniser.settings
        query = parse_listen_query(
            request.query_params.multi_items(), recogniser.info.languages, streaming=False
        )
        if (query.encoding is None) != (query.sample_rate_hz is None):
            raise BadRequest("encoding and sample_rate: raw audio needs both, a file neither")
        if request.headers.get("content-type", "").startswith("application/json"):
            raise BadRequest("send the audio itself as the body; this server fetches no URLs")
        with recogniser.receiving_upload():
            body = LimitedBody(request, settings.stt_upload_max_bytes, settings.stt_idle_timeout_s)
            data = await body.raw()
        with recogniser.admit():
            answer = await while_connected(request, _transcribe(data, query, recogniser, files))
        TTFB.labels("stt").observe(time.monotonic() - began)
        return answer

    return router


async def _transcribe(
    data: bytes, query: ListenQuery, recogniser: Recogniser, files: FileTranscriber
) -> PrerecordedAnswer:
    if query.encoding is None or query.sample_rate_hz is None:
        pcm = await files.decode(data)
    else:
        pcm = _raw_audio(data, query, recogniser.settings.stt_upload_max_s)
    segments = [s async for s in files.segments(pcm, query.language, query.prompt)]
    info = recogniser.info
    uuid = model_uuid(info)
    metadata = PrerecordedMetadata(
        request_id=str(uuid4()),
        created=datetime.now(UTC).isoformat(),
        duration=round(len(pcm) / SAMPLE_RATE_HZ, 3),
        channels=1,
        models=(uuid,),
        model_info={uuid: model_info(info)},
    )
    channel = Channel(alternatives=(_whole(segments),))
    utterances = tuple(map(_utterance, segments)) if query.utterances else None
    return PrerecordedAnswer(
        metadata=metadata, results=PrerecordedResults(channels=(channel,), utterances=utterances)
    )


def _raw_audio(data: bytes, query: ListenQuery, max_s: float) -> Pcm:
    assert query.encoding is not None
    assert query.sample_rate_hz is not None
    sample_bytes = 2 if query.encoding == "linear16" else 1
    if not data:
        raise BadRequest("the body is empty")
    if len(data) > max_s * query.sample_rate_hz * sample_bytes:
        raise PayloadTooLarge(f"the audio is longer than {max_s:g} s; send it in parts")
    audio = IncomingAudio(query.encoding, query.sample_rate_hz)
    # One piece of a second at a time keeps the resampler's working memory small.
    step = query.sample_rate_hz * sample_bytes
    pieces = [audio.push(data[at : at + step]) for at in range(0, len(data), step)]
    return np.concatenate([*pieces, audio.flush()])


def _whole(segments: list[FileSegment]) -> Alternative:
    known = [s.transcript.confidence for s in segments if s.transcript.confidence is not None]
    every_known = bool(segments) and len(known) == len(segments)
    languages = dict.fromkeys(s.transcript.language for s in segments)
    return Alternative(
        transcript=" ".join(s.transcript.text for s in segments if s.transcript.text),
        words=tuple(w for s in segments for w in listen_words(s.transcript, s.audio)),
        confidence=sum(known) / len(known) if every_known else UNKNOWN_CONFIDENCE,
        languages=tuple(language for language in languages if language),
    )


def _utterance(segment: FileSegment) -> PrerecordedUtterance:
    confidence = segment.transcript.confidence
    return PrerecordedUtterance(
        id=str(uuid4()),
        start=round(segment.start_s, 3),
        end=round(segment.end_s, 3),
        channel=0,
        transcript=segment.transcript.text,
        confidence=UNKNOWN_CONFIDENCE if confidence is None else confidence,
        words=listen_words(segment.transcript, segment.audio),
    )
