"""OpenAI's `POST /v1/audio/speech`, and the list of voices."""

import base64
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from fastapi import APIRouter, Request, Response

from speech_server.audio.encode import AudioEncoder, ContainerEncoder, RawEncoder, WavEncoder
from speech_server.error_response import error_body
from speech_server.errors import BadRequest, PayloadTooLarge, SpeechError
from speech_server.metrics import ERRORS
from speech_server.protocol.rest import (
    PCM_SAMPLE_RATE_HZ,
    SpeechFormat,
    SpeechRequest,
    VoiceList,
)
from speech_server.tts.engine import Pcm16
from speech_server.tts.request_body import max_body_bytes, read_body
from speech_server.tts.speaker import Speaker
from speech_server.tts.spoken_response import speak_over_http
from speech_server.tts.stream import Delivery


def speech_router(speaker: Callable[[], Speaker]) -> APIRouter:
    """The routes of this wire.

    Args:
        speaker: the loaded engine; raises a SpeechError while there is none.
    """
    router = APIRouter()
    body = {"required": True, "content": {"application/json": {
        "schema": SpeechRequest.model_json_schema(),
    }}}  # fmt: skip

    @router.post("/v1/audio/speech", openapi_extra={"requestBody": body})
    async def speech(request: Request) -> Response:
        """Speak a text. The answer streams from the first audio on."""
        loaded = speaker()
        limit = max_body_bytes(loaded.settings.tts_max_chars)
        response = await _speech(loaded, await read_body(request, SpeechRequest, limit))
        response.headers["x-request-id"] = uuid.uuid4().hex
        return response

    @router.get("/v1/audio/voices")
    async def voices() -> VoiceList:
        """The voices and the OpenAI names that stand for them."""
        return speaker().voices.listing()

    return router


async def _speech(speaker: Speaker, wish: SpeechRequest) -> Response:
    if len(wish.input) > speaker.settings.tts_max_chars:
        raise PayloadTooLarge(
            f"input is limited to {speaker.settings.tts_max_chars} characters,"
            f" this is {len(wish.input)}; split it into several requests"
        )
    if not wish.input:
        raise BadRequest("input: must not be empty")
    delivery = Delivery(
        voice=speaker.voices.resolve(_voice_name(wish.voice)),
        sample_rate_hz=PCM_SAMPLE_RATE_HZ,
        speed=wish.speed,
    )
    encoder = _encoder(wish.response_format)
    if wish.stream_format == "sse":
        return await speak_over_http(
            speaker, wish.input, delivery, encoder, _server_sent_events, "text/event-stream"
        )
    return await speak_over_http(speaker, wish.input, delivery, encoder)


def _voice_name(voice: str | dict[str, str]) -> str:
    if isinstance(voice, str):
        return voice
    if voice.keys() != {"id"}:
        raise BadRequest('voice: must be a name or {"id": name}')
    return voice["id"]


def _encoder(response_format: SpeechFormat) -> AudioEncoder:
    match response_format:
        case "pcm":
            return RawEncoder("pcm_s16le")
        case "wav":
            return WavEncoder("pcm_s16le", PCM_SAMPLE_RATE_HZ)
        case container:
            return ContainerEncoder(container, PCM_SAMPLE_RATE_HZ)


async def _server_sent_events(
    encoder: AudioEncoder, audio: AsyncIterator[Pcm16]
) -> AsyncGenerator[bytes, None]:
    """Audio as `speech.audio.delta` events; a failure on the way is an `error` event."""
    try:
        async for pcm in audio:
            if data := encoder.encode(pcm):
                yield _delta(data)
        if data := encoder.finish():
            yield _delta(data)
    except SpeechError as error:
        ERRORS.labels("tts", error.code).inc()
        yield _event({"type": "error", **error_body(error).model_dump(exclude_none=True)})
        return
    # The built-in engines speak without a language model: no tokens were used.
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    yield _event({"type": "speech.audio.done", "usage": usage})


def _delta(data: bytes) -> bytes:
    return _event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode()})


def _event(event: dict[str, object]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()
