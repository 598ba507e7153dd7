"""LiveKit's `TTS` on the speech server: one connection, a context per reply, cancel on barge-in."""

import asyncio
import time
import weakref
from dataclasses import replace

import aiohttp
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    APIError,
    NotGivenOr,
    tts,
    utils,
)
from livekit.agents.utils import is_given

from speech_plugins.connection import TTS_CONN_OPTIONS, SpeechServer, fast_options
from speech_plugins.reply import Reply, VoiceOptions
from speech_plugins.speak_socket import SpeakSocket

SAMPLE_RATE_HZ = 24_000
"""Rate asked for: that of LiveKit's audio output and of the neural codec, so nobody resamples."""


class TTS(tts.TTS):
    """Text to speech.

    Each token goes to the server as it comes; an interrupted reply is cancelled on the server; a
    reply whose connection breaks goes on after what was spoken.

    Args:
        url: base URL of the speech server, without a path.
        voice: voice id; None is the server's default.
        model: model id; empty lets the server choose.
        language: BCP 47 tag; None lets the voice decide.
        speed: 1.0 is the voice's own rate; None leaves it.
        word_times: True where the server's engine is known to tell when each word is spoken. The
            wire has no question for it, so otherwise it is learnt from the first reply, and
            `capabilities` tell what is known at the moment.
        api_key: key where the server asks for one.
        http_session: session to use; None takes the job's own for `https://`, else one of ours
            that `aclose` closes.

    Raises:
        ValueError: the URL is not one.
    """

    def __init__(
        self,
        *,
        url: str,
        voice: str | None = None,
        model: str = "",
        language: str | None = None,
        speed: float | None = None,
        word_times: bool = False,
        api_key: str | None = None,
        http_session: aiohttp.ClientSession | None = None,
    ) -> None:
        super().__init__(
            capabilities=tts.TTSCapabilities(streaming=True),
            sample_rate=SAMPLE_RATE_HZ,
            num_channels=1,
        )
        self._options = VoiceOptions(
            model=model, voice=voice, language=language, speed=speed, sample_rate=SAMPLE_RATE_HZ
        )
        self._socket = SpeakSocket(SpeechServer(url, api_key, http_session), word_times=word_times)
        self._streams: weakref.WeakSet[SynthesizeStream | ChunkedStream] = weakref.WeakSet()

    @property
    def capabilities(self) -> tts.TTSCapabilities:
        """Aligned transcripts from the moment on that word times are known to come."""
        return tts.TTSCapabilities(streaming=True, aligned_transcript=self._socket.word_times)

    @property
    def model(self) -> str:
        """Model id that is asked for."""
        return self._options.model or "default"

    @property
    def provider(self) -> str:
        """Label in metrics."""
        return "parley"

    def update_options(
        self,
        *,
        voice: NotGivenOr[str | None] = NOT_GIVEN,
        language: NotGivenOr[str | None] = NOT_GIVEN,
        speed: NotGivenOr[float | None] = NOT_GIVEN,
    ) -> None:
        """Change the voice of the replies that begin from now on."""
        if is_given(voice):
            self._options = replace(self._options, voice=voice)
        if is_given(language):
            self._options = replace(self._options, language=language)
        if is_given(speed):
            self._options = replace(self._options, speed=speed)

    def prewarm(self) -> None:
        """Open the connection before the first reply needs it."""
        self._socket.prewarm(TTS_CONN_OPTIONS.timeout)

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> "ChunkedStream":
        """Speak a whole text, of any length."""
        stream = ChunkedStream(
            tts=self, input_text=text, conn_options=fast_options(conn_options, TTS_CONN_OPTIONS)
        )
        self._streams.add(stream)
        return stream

    def stream(
        self, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> "SynthesizeStream":
        """Speak a reply whose text is still being written."""
        stream = SynthesizeStream(
            tts=self, conn_options=fast_options(conn_options, TTS_CONN_OPTIONS)
        )
        self._streams.add(stream)
        return stream

    async def aclose(self) -> None:
        """Stop every reply and close the connection."""
        for stream in list(self._streams):
            await stream.aclose()
        await self._socket.aclose()

    def _reply(
        self, stream: "SynthesizeStream | ChunkedStream", emitter: tts.AudioEmitter
    ) -> Reply:
        def report(error: APIError) -> None:
            failure = tts.TTSError(
                timestamp=time.time(), label=self._label, error=error, recoverable=True
            )
            self.emit("error", failure)

        return Reply(
            socket=self._socket,
            options=stream.options,
            emitter=emitter,
            conn_options=stream.conn_options,
            on_first_text=stream.mark_started,
            on_resume=report,
        )


class SynthesizeStream(tts.SynthesizeStream):
    """One reply, spoken while its text comes in."""

    def __init__(self, *, tts: TTS, conn_options: APIConnectOptions) -> None:
        super().__init__(tts=tts, conn_options=conn_options)
        self._plugin = tts
        self.options = tts._options
        """Fixed when the reply begins."""
        self.conn_options = conn_options

    def mark_started(self) -> None:
        """The first text is on its way: the time to first byte counts from here."""
        self._mark_started()

    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        output_emitter.initialize(
            request_id=utils.shortuuid("tts_"),
            sample_rate=self.options.sample_rate,
            num_channels=1,
            mime_type="audio/pcm",
            stream=True,
        )
        output_emitter.start_segment(segment_id=utils.shortuuid("seg_"))
        reply = self._plugin._reply(self, output_emitter)
        feeder = asyncio.create_task(self._feed(reply), name="reply text")
        try:
            await reply.speak()
        finally:
            await utils.aio.cancel_and_wait(feeder)
            self._acquire_time = reply.acquire_time
            self._connection_reused = reply.connection_reused

    async def _feed(self, reply: Reply) -> None:
        async for data in self._input_ch:
            if isinstance(data, self._FlushSentinel):
                reply.flush()
            else:
                reply.add(data)
        reply.end()


class ChunkedStream(tts.ChunkedStream):
    """One text, spoken as a whole."""

    def __init__(self, *, tts: TTS, input_text: str, conn_options: APIConnectOptions) -> None:
        super().__init__(tts=tts, input_text=input_text, conn_options=conn_options)
        self._plugin = tts
        self.options = tts._options
        """Fixed when the text is handed over."""
        self.conn_options = conn_options

    def mark_started(self) -> None:
        """Nothing to do: the framework counts from the creation of the stream."""

    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        output_emitter.initialize(
            request_id=utils.shortuuid("tts_"),
            sample_rate=self.options.sample_rate,
            num_channels=1,
            mime_type="audio/pcm",
        )
        reply = self._plugin._reply(self, output_emitter)
        reply.add(self._input_text)
        reply.end()
        try:
            await reply.speak()
        finally:
            self._acquire_time = reply.acquire_time
            self._connection_reused = reply.connection_reused
