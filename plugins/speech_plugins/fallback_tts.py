"""A voice with a second server behind the first: a reply goes on after the words that were heard.

A reply knows how much of it was spoken and resumes there in a context of its own; see `reply`. So
all that is to be done is to open the next context elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace

import aiohttp
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    APIConnectOptions,
    APIError,
    APIStatusError,
)

from speech_plugins.connection import SpeechServer, fast_options
from speech_plugins.fallback import ATTEMPT_TIMEOUT_S, PROBE_INTERVAL_S, FirstProvider
from speech_plugins.fallback_speech_server import FirstSpeechServer
from speech_plugins.reply import VoiceOptions
from speech_plugins.reply_text import Piece
from speech_plugins.speak_socket import Context, SpeakSocket
from speech_plugins.tts import TTS, ChunkedStream, SynthesizeStream
from speech_server.protocol import speak

_CONN_OPTIONS = APIConnectOptions(max_retry=8, retry_interval=0.25, timeout=ATTEMPT_TIMEOUT_S)
"""As `connection.TTS_CONN_OPTIONS`, but nobody waits long where another can be asked."""


class FallbackTTS(TTS):
    """`TTS` on the first of two servers that is well.

    A first server that refuses, breaks or owes audio for longer than `ATTEMPT_TIMEOUT_S` is left
    for the second; replies return to it once it is back.

    Args:
        url: base URL of the first speech server.
        fallback_url: base URL of the second.
        fallback_api_key: its key where it asks for one.
        fallback_voice: voice to ask it for; None is its default, as two engines seldom have voices
            of the same name.
        voice: voice of the first; None is its default.
        language: BCP 47 tag; None lets the voice decide.
        word_times: as for `TTS`, of the first.
        api_key: the first one's.
        http_session: as for `TTS`.
        probe_interval_s: time between two questions whether the first is back, seconds.

    Raises:
        ValueError: a URL is not one.
    """

    def __init__(
        self,
        *,
        url: str,
        fallback_url: str,
        fallback_api_key: str | None = None,
        fallback_voice: str | None = None,
        voice: str | None = None,
        language: str | None = None,
        word_times: bool = False,
        api_key: str | None = None,
        http_session: aiohttp.ClientSession | None = None,
        probe_interval_s: float = PROBE_INTERVAL_S,
    ) -> None:
        super().__init__(
            url=url, voice=voice, language=language, api_key=api_key, http_session=http_session
        )
        sockets = _TwoSockets(
            FirstSpeechServer(url, api_key, http_session),
            SpeechServer(fallback_url, fallback_api_key, http_session),
            word_times=word_times,
            probe_interval_s=probe_interval_s,
        )
        self._socket: SpeakSocket = sockets
        self._options: VoiceOptions = _TwoVoices(
            **asdict(self._options), sockets=sockets, second_voice=fallback_voice
        )

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> ChunkedStream:
        """Speak a whole text, of any length."""
        return super().synthesize(text, conn_options=fast_options(conn_options, _CONN_OPTIONS))

    def stream(
        self, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> SynthesizeStream:
        """Speak a reply whose text is still being written."""
        return super().stream(conn_options=fast_options(conn_options, _CONN_OPTIONS))


class _TwoSockets(SpeakSocket):
    """The first server's socket, with the second one's to turn to."""

    def __init__(
        self,
        first: FirstSpeechServer,
        second: SpeechServer,
        *,
        word_times: bool,
        probe_interval_s: float,
    ) -> None:
        self._first_tells_words = False
        self._second = SpeakSocket(second)
        self._on_second: set[str] = set()
        self._was_on_second = False
        self._provider = FirstProvider("tts", first.check_ready, probe_interval_s)
        super().__init__(first, word_times=word_times)

    @property
    def word_times(self) -> bool:
        """Whether every server that has spoken so far tells word times.

        A reply that resumes must not take a word without a time for one that was not heard.
        """
        second = self._second.word_times if self._was_on_second else True
        return self._first_tells_words and second

    @word_times.setter
    def word_times(self, told: bool) -> None:
        self._first_tells_words = told

    def is_on_second(self, context_id: str) -> bool:
        """Whether the second server speaks this context."""
        return context_id in self._on_second

    @asynccontextmanager
    async def context(self, timeout: float) -> AsyncIterator[Context]:
        """Speak under a new context id of a server that is well; see the base class."""
        async with AsyncExitStack() as stack:
            if (context := await self._enter_first(stack, timeout)) is not None:
                try:
                    yield context
                except APIError as error:
                    self._first_failed(error)
                    error.retryable = True  # somebody else is asked next
                    raise
                self._provider.served()
                return
            context = await stack.enter_async_context(self._second.context(timeout))
            self._was_on_second = True
            self._on_second.add(context.id)
            stack.callback(self._on_second.discard, context.id)
            yield context

    async def _enter_first(self, stack: AsyncExitStack, timeout: float) -> Context | None:
        """A context of the first server; None where it is not well."""
        if not self._provider.is_well:
            return None
        try:
            opened = super().context(min(timeout, ATTEMPT_TIMEOUT_S))
            return await stack.enter_async_context(opened)
        except APIError as error:
            self._first_failed(error)
            return None

    def _first_failed(self, error: APIError) -> None:
        self._provider.failed(error)
        socket = self._socket
        if socket is not None and not isinstance(error, APIStatusError):
            # It may look open for long: when the server is back, it is asked on a new one.
            self._socket = None
            self._keep(asyncio.create_task(socket.close(), name="speak socket close"))

    async def _prewarm(self, timeout: float) -> None:
        try:
            await self._ensure_open(min(timeout, ATTEMPT_TIMEOUT_S))
        except APIError as error:
            self._first_failed(error)
        self._second.prewarm(timeout)

    async def aclose(self) -> None:
        """Close both sockets and end the background work."""
        await self._provider.aclose()
        await super().aclose()
        await self._second.aclose()


@dataclass(frozen=True, slots=True)
class _TwoVoices(VoiceOptions):
    """How a reply is to be spoken, by either server."""

    sockets: _TwoSockets
    second_voice: str | None

    def generate(self, context_id: str, piece: Piece) -> speak.Generate:
        """The message that sends a piece of text to the server that has the context."""
        if not self.sockets.is_on_second(context_id):
            return VoiceOptions.generate(self, context_id, piece)
        spoken_by_second = replace(self, model="", voice=self.second_voice)
        return VoiceOptions.generate(spoken_by_second, context_id, piece)
