"""The one WebSocket on which every reply of a TTS is spoken, each under a context of its own."""

import asyncio
import base64
import binascii
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from livekit.agents import APIConnectionError, APIError, utils
from pydantic import TypeAdapter

from speech_plugins.connection import Socket, SpeechServer, parse, server_error
from speech_server.protocol import speak

logger = logging.getLogger(__name__)

_PATH = "/tts/websocket"
_MESSAGE: TypeAdapter[
    speak.Chunk | speak.Timestamps | speak.FlushDone | speak.Done | speak.Error
] = TypeAdapter(speak.ServerMessage)

Answer = speak.Chunk | speak.Timestamps | speak.FlushDone | speak.Done


def pcm_of(chunk: speak.Chunk) -> bytes:
    """The audio of a chunk.

    Returns:
        int16 little endian, mono, at the rate that was asked for.

    Raises:
        APIError: it is not base64, or holds half a sample.
    """
    try:
        pcm = base64.b64decode(chunk.data, validate=True)
    except binascii.Error:
        raise APIError("speech server sent audio that is not base64") from None
    if len(pcm) % 2:
        raise APIError("speech server sent half a sample")
    return pcm


@dataclass
class Context:
    """One reply, or a part of it, on the shared socket."""

    id: str
    acquire_time: float
    """Time until the socket was there, seconds."""
    reused: bool
    """Whether it was there already."""
    socket: Socket
    """The connection it lives on."""
    _inbox: asyncio.Queue[Answer | speak.Error | APIError] = field(default_factory=asyncio.Queue)
    _over: bool = False

    @property
    def over(self) -> bool:
        """Whether the server will say no more about this context."""
        return self._over

    async def send(self, message: speak.Generate) -> None:
        """Send text.

        Raises:
            APIConnectionError: the connection is gone.
        """
        await self.socket.send(message)

    async def receive(self) -> Answer:
        """The server's next message about this context.

        Raises:
            APIStatusError: the server gave up on this context.
            APIConnectionError: the connection broke.
        """
        item = await self._inbox.get()
        if isinstance(item, APIError):
            self._over = True
            # Each context raises its own error: the framework writes into what it catches.
            raise APIConnectionError(item.message, retryable=item.retryable) from item
        if isinstance(item, speak.Error):
            self._over = True
            raise server_error(
                item.error_code, item.error, retryable=item.retryable, status=item.status_code
            )
        if isinstance(item, speak.Done):
            self._over = True
        return item

    def deliver(self, item: Answer | speak.Error | APIError) -> None:
        """Put a message or the end of the connection into the inbox."""
        self._inbox.put_nowait(item)


class SpeakSocket:
    """Opens the WebSocket when it is first needed, shares it, and opens it again after a loss.

    Args:
        server: where to.
        word_times: whether the server is known to tell word times; learnt otherwise.
    """

    def __init__(self, server: SpeechServer, *, word_times: bool = False) -> None:
        self.word_times = word_times
        """Whether the server tells word times: promised, or seen."""
        self._server = server
        self._socket: Socket | None = None
        self._contexts: dict[str, Context] = {}
        self._connecting = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()

    async def _ensure_open(self, timeout: float) -> tuple[Socket, bool]:
        async with self._connecting:
            if self._socket is not None and not self._socket.closed:
                return self._socket, True
            socket = await self._server.connect(_PATH, timeout=timeout)
            self._socket = socket
            self._reader = asyncio.create_task(self._read(socket), name="speak socket reader")
            self._keep(self._reader)
            logger.info("speech synthesis connected", extra={"host": self._server.host})
            return socket, False

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def prewarm(self, timeout: float) -> None:
        """Open the socket in the background; a failure is logged and the first reply retries.

        Args:
            timeout: longest time for it, seconds.
        """
        self._keep(asyncio.create_task(self._prewarm(timeout), name="speak socket prewarm"))

    async def _prewarm(self, timeout: float) -> None:
        try:
            await self._ensure_open(timeout)
        except APIError as error:
            logger.warning("speech synthesis prewarm failed", extra={"error": str(error)})

    @asynccontextmanager
    async def context(self, timeout: float) -> AsyncIterator[Context]:
        """Speak under a new context id; left early, the server is told to stop.

        Args:
            timeout: longest time to open the socket where it is not open, seconds.

        Raises:
            APIError: the socket cannot be opened.
        """
        started = time.perf_counter()
        socket, reused = await self._ensure_open(timeout)
        context = Context(
            id=utils.shortuuid("ctx_"),
            acquire_time=time.perf_counter() - started,
            reused=reused,
            socket=socket,
        )
        self._contexts[context.id] = context
        try:
            yield context
        finally:
            del self._contexts[context.id]
            if not context.over and not socket.closed:
                # Beside the caller, who is being cancelled and must not wait for the network.
                cancel = speak.Cancel(context_id=context.id, cancel=True)
                self._keep(asyncio.create_task(self._send_cancel(socket, cancel)))

    async def _send_cancel(self, socket: Socket, cancel: speak.Cancel) -> None:
        try:
            await socket.send(cancel)
        except APIError as error:
            # A connection that cannot carry it is lost, and with it the context.
            logger.debug("cancel was not sent", extra={"error": str(error)})

    async def _read(self, socket: Socket) -> None:
        try:
            while True:
                self._dispatch(socket, parse(_MESSAGE, await socket.receive()))
        except APIError as error:
            if self._socket is socket:
                self._socket = None
            logger.info(
                "speech synthesis disconnected",
                extra={"error": str(error), "contexts": len(self._contexts)},
            )
            self._deliver_to_all(socket, error)
        finally:
            await socket.close()

    def _dispatch(self, socket: Socket, message: Answer | speak.Error) -> None:
        if message.context_id is None:
            # An error that belongs to no context: something we sent was not understood.
            self._deliver_to_all(socket, message)
            return
        if isinstance(message, speak.Timestamps):
            self.word_times = True
        context = self._contexts.get(message.context_id)
        # None: the tail of a context that was cancelled meanwhile.
        if context is not None:
            context.deliver(message)

    def _deliver_to_all(self, socket: Socket, item: Answer | speak.Error | APIError) -> None:
        for context in self._contexts.values():
            if context.socket is socket:
                context.deliver(item)

    async def aclose(self) -> None:
        """Close the socket and end the background work."""
        await utils.aio.cancel_and_wait(*self._background)
        if self._socket is not None:
            # The reader closes it too, unless it was cancelled before it ran.
            await self._socket.close()
            self._socket = None
        await self._server.aclose()
