"""Cartesia's dialect: `WS /tts/websocket` and `POST /tts/bytes`."""

import uuid
from collections.abc import Callable

from fastapi import APIRouter, Request, Response, WebSocket

from speech_server.audio.encode import AudioEncoder, ContainerEncoder, RawEncoder, WavEncoder
from speech_server.error_response import error_response
from speech_server.errors import BadRequest, SpeechError
from speech_server.metrics import ERRORS
from speech_server.protocol.speak import Generate, OutputFormat
from speech_server.tts.request_body import max_body_bytes, read_body
from speech_server.tts.speak_connection import SpeakConnection, delivery_of
from speech_server.tts.speaker import Speaker
from speech_server.tts.spoken_response import speak_over_http


def speak_router(speaker: Callable[[], Speaker]) -> APIRouter:
    """The routes of this wire.

    Args:
        speaker: the loaded engine; raises a SpeechError while there is none.
    """
    router = APIRouter()
    body = {"required": True, "content": {"application/json": {
        "schema": Generate.model_json_schema(by_alias=True),
    }}}  # fmt: skip

    @router.websocket("/tts/websocket")
    async def websocket(websocket: WebSocket) -> None:
        """Speak contexts. A refusal is an HTTP answer in place of the upgrade."""
        try:
            loaded = speaker()
        except SpeechError as error:
            ERRORS.labels("tts", error.code).inc()
            await websocket.send_denial_response(error_response(error))
            return
        await SpeakConnection(websocket, loaded).run()

    @router.post("/tts/bytes", openapi_extra={"requestBody": body})
    async def whole(request: Request) -> Response:
        """Speak a text in one answer, which streams from the first audio on."""
        loaded = speaker()
        limit = max_body_bytes(loaded.settings.tts_max_chars)
        wish = await read_body(request, Generate, limit)
        if wish.continue_ or wish.flush:
            raise BadRequest("continue and flush need the WebSocket, /tts/websocket")
        if not wish.transcript:
            raise BadRequest("transcript: must not be empty")
        response = await speak_over_http(
            loaded, wish.transcript, delivery_of(loaded, wish), _encoder(wish.output_format)
        )
        response.headers["x-request-id"] = uuid.uuid4().hex
        return response

    return router


def _encoder(wanted: OutputFormat) -> AudioEncoder:
    if wanted.bit_rate is not None and wanted.container != "mp3":
        raise BadRequest("output_format.bit_rate: applies to mp3 only")
    match wanted.container:
        case "raw":
            return RawEncoder(wanted.encoding)
        case "wav":
            return WavEncoder(wanted.encoding, wanted.sample_rate)
        case "mp3":
            try:
                return ContainerEncoder("mp3", wanted.sample_rate, wanted.bit_rate)
            except ValueError as error:
                raise BadRequest(f"output_format: {error}") from error
