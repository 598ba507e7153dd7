"""`WS /v1/listen`: streaming speech to text in Deepgram's dialect."""

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import BaseModel, ValidationError

from speech_server.error_response import error_response
from speech_server.errors import BadRequest, DeadlineExceeded, PayloadTooLarge, SpeechError
from speech_server.metrics import ERRORS, TTFB
from speech_server.protocol.listen import CLIENT_MESSAGE, CloseStream, Error, Finalize, Metadata
from speech_server.stt.engine import SAMPLE_RATE_HZ
from speech_server.stt.incoming_audio import IncomingAudio
from speech_server.stt.listen_messages import ListenMessages
from speech_server.stt.listen_query import ListenQuery, parse_listen_query
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.stream import TranscriptStream
from speech_server.stt.vad import SileroVoiceActivity

logger = logging.getLogger(__name__)

_MAX_TEXT_CHARS: Final = 4096
"""The longest control message of the dialect has 23 characters."""
_PIECE_BYTES: Final = 8192
"""Of a binary message, taken in one go: 0.25 s of 16 kHz linear16."""
_CLOSE_CODES: Final = {
    "bad_request": 1008,
    "payload_too_large": 1009,
    "shutting_down": 1012,
    "overloaded": 1013,
}
"""WebSocket close code of each error; 1011 for the rest. Source: RFC 6455 and IANA's registry."""


def listen_router(recogniser: Recogniser) -> APIRouter:
    """The route, bound to a recogniser."""
    router = APIRouter()

    @router.websocket("/v1/listen")
    async def listen(websocket: WebSocket) -> None:
        """Transcribe one stream. A refusal is an HTTP answer in place of the upgrade."""
        try:
            query = parse_listen_query(
                websocket.query_params.multi_items(), recogniser.info.languages, streaming=True
            )
            with recogniser.admit():
                await websocket.accept()
                await _Connection(websocket, query, recogniser).run()
        except SpeechError as error:
            ERRORS.labels("stt", error.code).inc()
            await websocket.send_denial_response(error_response(error))

    return router


class _Connection:
    """One accepted WebSocket: a task that receives and one that sends."""

    def __init__(self, websocket: WebSocket, query: ListenQuery, recogniser: Recogniser) -> None:
        assert query.encoding is not None  # both are required of a stream
        assert query.sample_rate_hz is not None
        self._websocket = websocket
        self._request_id = str(uuid4())
        self._idle_timeout_s = recogniser.settings.stt_idle_timeout_s
        self._audio = IncomingAudio(query.encoding, query.sample_rate_hz)
        self._segmenter = Segmenter(SileroVoiceActivity(), _segmenter_settings(query, recogniser))
        self._stream = TranscriptStream(
            recogniser.batcher, self._segmenter, language=query.language, prompt=query.prompt
        )
        self._messages = ListenMessages(query, self._request_id, recogniser.info)
        self._finalized_at: list[float] = []

    async def run(self) -> None:
        """Serve until the client closes the stream, goes away, or breaks a rule."""
        logger.info("stream opened", extra={"stream_id": self._request_id})
        tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._send())]
        try:
            # Whoever fails first ends both; the sender alone ends a stream that went well.
            await asyncio.gather(*tasks)
        except WebSocketDisconnect:
            pass
        except SpeechError as error:
            await self._tell(error)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._stream.cancel()
            logger.info(
                "stream closed",
                extra={
                    "stream_id": self._request_id,
                    "audio_s": round(self._segmenter.position / SAMPLE_RATE_HZ, 3),
                },
            )

    async def _receive(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._idle_timeout_s):
                    message = await self._websocket.receive()
            except TimeoutError:
                raise DeadlineExceeded(
                    f"neither audio nor KeepAlive came for {self._idle_timeout_s:g} s"
                ) from None
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code") or 1005)
            if (data := message.get("bytes")) is not None:
                await self._take(data)
            elif await self._obey(message["text"]):
                return

    async def _take(self, data: bytes) -> None:
        # In pieces: a minute in one message would take the resampler's memory and everybody's time.
        for begin in range(0, len(data), _PIECE_BYTES):
            await self._stream.push(self._audio.push(data[begin : begin + _PIECE_BYTES]))

    async def _obey(self, text: str) -> bool:
        """Act on a control message; True when no more audio follows."""
        if len(text) > _MAX_TEXT_CHARS:
            raise PayloadTooLarge(f"a control message is longer than {_MAX_TEXT_CHARS} characters")
        try:
            control = CLIENT_MESSAGE.validate_json(text)
        except ValidationError:
            raise BadRequest(
                "a text message must be JSON with type KeepAlive, Finalize or CloseStream; "
                "audio goes in binary messages"
            ) from None
        if isinstance(control, Finalize):
            self._finalized_at.append(time.monotonic())
            await self._stream.push(self._audio.flush())
            await self._stream.finalize()
        elif isinstance(control, CloseStream):
            await self._stream.push(self._audio.flush())
            await self._stream.end()
            return True
        return False

    async def _send(self) -> None:
        async for event in self._stream.events():
            message = self._messages.message(event)
            if message is None:
                continue
            if getattr(message, "from_finalize", False):
                TTFB.labels("stt").observe(time.monotonic() - self._finalized_at.pop(0))
            await self._write(message)
        await self._write(
            Metadata(
                request_id=self._request_id,
                created=datetime.now(UTC).isoformat(),
                duration=round(self._segmenter.position / SAMPLE_RATE_HZ, 3),
                channels=1,
            )
        )
        await self._websocket.close(1000)

    async def _write(self, message: BaseModel) -> None:
        try:
            async with asyncio.timeout(self._idle_timeout_s):
                await self._websocket.send_text(message.model_dump_json(exclude_none=True))
        except TimeoutError:
            # It does not read: there is no one to tell.
            raise WebSocketDisconnect(1006) from None

    async def _tell(self, error: SpeechError) -> None:
        ERRORS.labels("stt", error.code).inc()
        message = Error(code=error.code, description=error.message, retryable=error.retryable)
        try:
            await self._write(message)
            await self._websocket.close(_CLOSE_CODES.get(error.code, 1011))
        except (WebSocketDisconnect, RuntimeError):
            # RuntimeError: Starlette's word for "the peer has closed meanwhile".
            logger.info("client left before its error", extra={"stream_id": self._request_id})


def _segmenter_settings(query: ListenQuery, recogniser: Recogniser) -> SegmenterSettings:
    settings = recogniser.settings
    return SegmenterSettings(
        # Decoding ahead of the end serves everybody; only its message is an extension.
        preflight_silence_s=settings.stt_preflight_silence_s,
        interim_interval_s=settings.stt_interim_interval_s if query.interim_results else None,
        endpointing_s=query.endpointing_s,
        utterance_end_s=query.utterance_end_s,
        max_utterance_s=settings.stt_max_utterance_s,
    )
