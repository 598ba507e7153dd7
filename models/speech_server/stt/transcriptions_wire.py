"""`POST /v1/audio/transcriptions`: a file in, its text out, in OpenAI's API."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile
from starlette.types import Receive, Scope, Send

from speech_server.error_response import error_body
from speech_server.errors import BadRequest, SpeechError
from speech_server.metrics import ERRORS, TTFB
from speech_server.protocol.rest import TranscriptionFormat
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm, SttEngineInfo
from speech_server.stt.file_transcriber import FileSegment, FileTranscriber
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.transcription_formats import (
    DurationUsage,
    TranscriptionJson,
    TranscriptTextDelta,
    TranscriptTextDone,
    full_text,
    subtitles,
    verbose,
)
from speech_server.stt.upload import LimitedBody, while_connected

logger = logging.getLogger(__name__)

_FORMATS: Final = frozenset(get_args(TranscriptionFormat))
_GRANULARITIES: Final = frozenset({"segment", "word"})
_IGNORED: Final = frozenset({"model", "temperature", "chunking_strategy"})
"""Accepted and not acted on: one model, which always gives its best reading, cut at pauses."""
_READ: Final = frozenset({
    "file", "language", "prompt", "response_format", "stream", "timestamp_granularities",
})  # fmt: skip
_MAX_PROMPT_CHARS: Final = 4096


@dataclass(frozen=True, slots=True)
class TranscriptionRequest:
    """The form of one request, checked."""

    data: bytes
    language: str | None
    prompt: str | None
    response_format: TranscriptionFormat
    stream: bool
    granularities: frozenset[str]


def transcriptions_router(recogniser: Recogniser, files: FileTranscriber) -> APIRouter:
    """The route, bound to a recogniser."""
    router = APIRouter()
    settings = recogniser.settings

    @router.post("/v1/audio/transcriptions")
    async def transcribe(request: Request) -> Response:
        """Transcribe the uploaded file."""
        began = time.monotonic()
        with recogniser.receiving_upload():
            body = LimitedBody(request, settings.stt_upload_max_bytes, settings.stt_idle_timeout_s)
            form = await body.form()
            try:
                asked = await _read_form(form, recogniser.info)
            finally:
                await form.close()
        with ExitStack() as place:
            place.enter_context(recogniser.admit())
            pcm = await while_connected(request, files.decode(asked.data))
            if asked.stream:
                events = _events(files, pcm, asked, began)
                return _HoldingResponse(events, place.pop_all())
            segments = await while_connected(request, _all(files, pcm, asked))
        TTFB.labels("stt").observe(time.monotonic() - began)
        return _answer(segments, len(pcm) / SAMPLE_RATE_HZ, asked)

    return router


async def _read_form(form: FormData, info: SttEngineInfo) -> TranscriptionRequest:
    values: dict[str, str] = {}
    granularities: set[str] = set()
    for key, value in form.multi_items():
        name = key.removesuffix("[]")
        if name not in _READ | _IGNORED:
            raise BadRequest(f"unknown field: {name}")
        if name == "file":
            continue
        if not isinstance(value, str):
            raise BadRequest(f"{name}: must be text, not a file")
        if name == "timestamp_granularities":
            granularities.add(value)
        elif name in values:
            raise BadRequest(f"{name}: given twice")
        else:
            values[name] = value
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        raise BadRequest("file: missing; send the audio as a part named 'file' with a file name")
    response_format = _format(values.get("response_format", "json"))
    return TranscriptionRequest(
        data=await upload.read(),
        language=_language(values.get("language"), info),
        prompt=_prompt(values.get("prompt")),
        response_format=response_format,
        stream=_flag("stream", values.get("stream", "false")),
        granularities=_granularities(granularities, response_format, info),
    )


def _format(value: str) -> TranscriptionFormat:
    for known in get_args(TranscriptionFormat):
        if value == known:
            return value  # type: ignore[return-value]
    raise BadRequest(f"response_format: must be one of {', '.join(sorted(_FORMATS))}")


def _language(value: str | None, info: SttEngineInfo) -> str | None:
    if not value:
        return None
    if value.partition("-")[0].lower() not in {t.partition("-")[0].lower() for t in info.languages}:
        raise BadRequest(f"language: this server's model knows {', '.join(info.languages)} only")
    return value


def _prompt(value: str | None) -> str | None:
    if value and len(value) > _MAX_PROMPT_CHARS:
        raise BadRequest(f"prompt: longer than {_MAX_PROMPT_CHARS} characters")
    return value or None


def _flag(name: str, value: str) -> bool:
    if value.lower() not in {"true", "false"}:
        raise BadRequest(f"{name}: must be true or false")
    return value.lower() == "true"


def _granularities(
    asked: set[str], response_format: TranscriptionFormat, info: SttEngineInfo
) -> frozenset[str]:
    if unknown := asked - _GRANULARITIES:
        raise BadRequest(f"timestamp_granularities: unknown: {', '.join(sorted(unknown))}")
    if asked and response_format != "verbose_json":
        raise BadRequest("timestamp_granularities: needs response_format=verbose_json")
    if "word" in asked and not info.word_times:
        raise BadRequest(
            f"timestamp_granularities: {info.model} knows no word times; ask for segment"
        )
    return frozenset(asked or {"segment"})


async def _all(files: FileTranscriber, pcm: Pcm, asked: TranscriptionRequest) -> list[FileSegment]:
    return [segment async for segment in files.segments(pcm, asked.language, asked.prompt)]


def _answer(
    segments: list[FileSegment], duration_s: float, asked: TranscriptionRequest
) -> Response:
    match asked.response_format:
        case "text":
            return PlainTextResponse(full_text(segments) + "\n")
        case "srt":
            return PlainTextResponse(subtitles(segments, "srt"), media_type="application/x-subrip")
        case "vtt":
            return PlainTextResponse(subtitles(segments, "vtt"), media_type="text/vtt")
        case "verbose_json":
            body: BaseModel = verbose(segments, duration_s, asked.granularities)
        case "json":
            usage = DurationUsage(seconds=round(duration_s, 3))
            body = TranscriptionJson(text=full_text(segments), usage=usage)
    return JSONResponse(body.model_dump(exclude_none=True))


async def _events(
    files: FileTranscriber, pcm: Pcm, asked: TranscriptionRequest, began: float
) -> AsyncIterator[str]:
    segments: list[FileSegment] = []
    try:
        async for segment in files.segments(pcm, asked.language, asked.prompt):
            if not segments:
                TTFB.labels("stt").observe(time.monotonic() - began)
            if segment.transcript.text:
                lead = " " if segments else ""
                segments.append(segment)
                yield _sse(TranscriptTextDelta(delta=lead + segment.transcript.text))
    except SpeechError as error:
        # The status line is gone already: the error is the last event.
        ERRORS.labels("stt", error.code).inc()
        yield _sse(error_body(error))
        return
    usage = DurationUsage(seconds=round(len(pcm) / SAMPLE_RATE_HZ, 3))
    yield _sse(TranscriptTextDone(text=full_text(segments), usage=usage))


def _sse(event: BaseModel) -> str:
    return f"data: {event.model_dump_json()}\n\n"


class _HoldingResponse(StreamingResponse):
    """An event stream that gives its place back however it ends, even unread."""

    def __init__(self, events: AsyncIterator[str], place: ExitStack) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)
