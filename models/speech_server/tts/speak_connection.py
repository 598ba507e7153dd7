"""One WebSocket of the Cartesia dialect: many contexts, each a reply, share it.

The client's messages are read one by one; every context has a task that sends its audio. All
sending goes through one lock, so that a slow reader slows every context down and a stuck one
ends the connection.
"""

import asyncio
import base64
import logging
import time
from contextlib import AsyncExitStack, suppress

from fastapi import WebSocket
from pydantic_core import from_json
from starlette.websockets import WebSocketDisconnect

from speech_server.audio.encode import RawEncoder
from speech_server.errors import BadRequest, Overloaded, SpeechError
from speech_server.metrics import ERRORS
from speech_server.protocol.speak import (
    MAX_CONTEXT_ID_CHARS,
    Cancel,
    Chunk,
    Done,
    Error,
    FlushDone,
    Generate,
    GenerationConfig,
    ServerMessage,
    Timestamps,
    WordTimestamps,
)
from speech_server.tts.engine import WordTime
from speech_server.tts.request_body import parse
from speech_server.tts.speaker import Speaker
from speech_server.tts.spoken_response import STUCK_READER_S
from speech_server.tts.stream import Delivery, Flushed, Reply, ReplyAudio

logger = logging.getLogger(__name__)

_GOING_AWAY = 1001
_POLICY_VIOLATION = 1008
"""WebSocket close codes. Source: RFC 6455, section 7.4.1."""


def delivery_of(speaker: Speaker, wish: Generate) -> Delivery:
    """How a message wants to be spoken.

    Raises:
        NotFound: no such voice.
        BadRequest: the voice does not speak the language.
    """
    config = wish.generation_config or GenerationConfig()
    return Delivery(
        voice=speaker.voices.resolve(wish.voice.named if wish.voice else None, wish.language),
        sample_rate_hz=wish.output_format.sample_rate,
        speed=1.0 if config.speed is None else config.speed,
        volume=1.0 if config.volume is None else config.volume,
    )


class _Context:
    """A reply that is being spoken, with the message that began it."""

    def __init__(self, first: Generate, reply: Reply, held: AsyncExitStack) -> None:
        self.first = first
        self.reply = reply
        self.held = held
        """Closed with the context: the reply and its place."""
        self.encoder = RawEncoder(first.output_format.encoding)
        self.sent_at = time.perf_counter()
        self.task: asyncio.Task[None] | None = None

    def check_unchanged(self, message: Generate) -> None:
        """Voice, format and the like are those of the context's first message.

        Raises:
            BadRequest: this message asks for others.
        """
        for name in ("voice", "output_format", "language", "generation_config"):
            changed = getattr(message, name) != getattr(self.first, name)
            if changed and name in message.model_fields_set:
                raise BadRequest(f"{name}: cannot change within a context; begin a new one")


class SpeakConnection:
    """Serves one WebSocket until either side ends it.

    Args:
        websocket: not yet accepted.
        speaker: opens the replies.
    """

    def __init__(self, websocket: WebSocket, speaker: Speaker) -> None:
        self._websocket = websocket
        self._speaker = speaker
        self._settings = speaker.settings
        self._contexts: dict[str, _Context] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._stuck = asyncio.Event()

    async def run(self) -> None:
        """Serve; what is being spoken stops when the connection ends."""
        await self._websocket.accept()
        reading = asyncio.create_task(self._read())
        stuck = asyncio.create_task(self._stuck.wait())
        try:
            await asyncio.wait({reading, stuck}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, stuck):
                task.cancel()
            await asyncio.wait({reading, stuck})
            for context_id in list(self._contexts):
                await self._close(context_id)
            for task in list(self._tasks):  # those that had only their last message to send
                task.cancel()
        if self._stuck.is_set():
            logger.warning("a client stopped reading its audio; connection ended")
            # The close frame queues behind what is stuck: do not wait for it.
            with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
                async with asyncio.timeout(1.0):
                    await self._websocket.close(_POLICY_VIOLATION, "audio is not being read")
        elif not reading.cancelled():
            with suppress(WebSocketDisconnect):
                reading.result()

    async def _read(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._settings.tts_idle_timeout_s):
                    message = await self._websocket.receive()
            except TimeoutError:
                if self._contexts:
                    continue
                await self._websocket.close(_GOING_AWAY, "nothing was sent for a while")
                return
            if message["type"] == "websocket.disconnect":
                return
            await self._handle(message.get("text"))

    async def _handle(self, text: str | None) -> None:
        context_id: str | None = None
        try:
            if text is None:
                raise BadRequest("messages are JSON text; binary messages mean nothing here")
            fields = _fields(text)
            context_id = _context_id(fields)
            if "cancel" in fields:
                await self._cancel(parse(Cancel, text))
            else:
                await self._generate(parse(Generate, text))
        except SpeechError as error:
            await self._fail(context_id, error)

    async def _cancel(self, message: Cancel) -> None:
        await self._close(message.context_id)
        await self._send(Done(context_id=message.context_id))

    async def _generate(self, message: Generate) -> None:
        if message.context_id is None:
            raise BadRequest("context_id: is required")
        context = self._contexts.get(message.context_id)
        if context is None:
            if not message.transcript.strip() and not message.continue_:
                # The end of a context that is over already, or that never said anything.
                await self._send(Done(context_id=message.context_id))
                return
            context = self._open(message.context_id, message)
        context.check_unchanged(message)
        context.reply.push(message.transcript)
        if message.flush:
            context.reply.flush()
        if not message.continue_:
            context.reply.end()

    def _open(self, context_id: str, message: Generate) -> _Context:
        if message.output_format.container != "raw":
            raise BadRequest("output_format.container: the WebSocket sends raw audio only")
        if message.output_format.bit_rate is not None:
            raise BadRequest("output_format.bit_rate: applies to mp3 only")
        if len(self._contexts) >= self._settings.tts_max_contexts:
            raise Overloaded(
                f"{self._settings.tts_max_contexts} contexts are open on this connection"
            )
        delivery = delivery_of(self._speaker, message)
        held = AsyncExitStack()
        held.enter_context(self._speaker.admission.admit())
        delay_ms = message.max_buffer_delay_ms
        reply = self._speaker.open(delivery, None if delay_ms is None else delay_ms / 1000)
        held.push_async_callback(reply.aclose)
        context = _Context(message, reply, held)
        self._contexts[context_id] = context
        context.task = asyncio.create_task(self._deliver(context_id, context))
        self._tasks.add(context.task)
        context.task.add_done_callback(self._tasks.discard)
        return context

    async def _deliver(self, context_id: str, context: _Context) -> None:
        """Send what a context speaks, to its end."""
        last: Done | Error = Done(context_id=context_id)
        try:
            async for event in context.reply.events():
                await self._send_event(context_id, context, event)
        except SpeechError as error:
            last = self._error(context_id, error)
        except WebSocketDisconnect:
            return  # the reader of the socket sees it too and ends the connection
        # Freed before the client is told, so that it can begin another one at once.
        self._contexts.pop(context_id, None)
        await context.held.aclose()
        with suppress(WebSocketDisconnect):
            await self._send(last)

    async def _send_event(
        self, context_id: str, context: _Context, event: ReplyAudio | Flushed
    ) -> None:
        if isinstance(event, Flushed):
            await self._send(FlushDone(context_id=context_id, flush_id=event.flush_id))
            return
        if event.words and context.first.add_timestamps:
            times = _word_timestamps(event.words)
            estimated = self._speaker.info.word_times_estimated or None
            await self._send(
                Timestamps(context_id=context_id, word_timestamps=times, estimated=estimated)
            )
        if len(event.pcm):
            now = time.perf_counter()
            step_ms, context.sent_at = (now - context.sent_at) * 1000, now
            data = base64.b64encode(context.encoder.encode(event.pcm)).decode()
            await self._send(Chunk(context_id=context_id, data=data, step_time=round(step_ms, 3)))

    async def _fail(self, context_id: str | None, error: SpeechError) -> None:
        """Tell of an error; the context it belongs to is over, the connection is not."""
        if context_id is not None:
            await self._close(context_id)
        await self._send(self._error(context_id, error))

    def _error(self, context_id: str | None, error: SpeechError) -> Error:
        ERRORS.labels("tts", error.code).inc()
        return Error(
            context_id=context_id,
            status_code=error.http_status,
            error=error.message,
            error_code=error.code,
            retryable=error.retryable,
        )

    async def _close(self, context_id: str) -> None:
        """Stop a context; nothing of it is sent any more."""
        context = self._contexts.pop(context_id, None)
        if context is None or context.task is None:
            return
        context.task.cancel()
        await asyncio.wait({context.task})
        await context.held.aclose()

    async def _send(self, message: ServerMessage) -> None:
        """Send one message, in turn.

        Raises:
            WebSocketDisconnect: the client is gone, or reads no more.
        """
        data = message.model_dump_json(exclude_none=True)
        try:
            async with self._sending, asyncio.timeout(STUCK_READER_S):
                await self._websocket.send_text(data)
        except TimeoutError:
            self._stuck.set()
            raise WebSocketDisconnect(_POLICY_VIOLATION) from None
        except RuntimeError as error:  # Starlette: the socket has been closed
            raise WebSocketDisconnect(_GOING_AWAY) from error


def _fields(text: str) -> dict[str, object]:
    try:
        fields = from_json(text)
    except ValueError as error:
        raise BadRequest(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise BadRequest("a message is a JSON object")
    return fields


def _context_id(fields: dict[str, object]) -> str | None:
    """The context that a message names, also where the rest of it is wrong."""
    context_id = fields.get("context_id")
    if isinstance(context_id, str) and 0 < len(context_id) <= MAX_CONTEXT_ID_CHARS:
        return context_id
    return None


def _word_timestamps(words: tuple[WordTime, ...]) -> WordTimestamps:
    return WordTimestamps(
        words=tuple(word.text for word in words),
        start=tuple(round(word.start_s, 3) for word in words),
        end=tuple(round(word.end_s, 3) for word in words),
    )
