"""One reply on its way to the caller: text in, audio out, resumed where a connection breaks."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from livekit.agents import APIConnectOptions, APIError, APITimeoutError, tts
from livekit.agents.types import TimedString

from speech_plugins.reply_text import Piece, ReplyText
from speech_plugins.speak_socket import Answer, Context, SpeakSocket, pcm_of
from speech_server.protocol import speak

logger = logging.getLogger(__name__)

FIRST_RETRY_S = 0.1
"""Pause before the first resumption, seconds; later ones wait `retry_interval`."""
_SILENCE_S = 0.02
"""Given for text without a word in it ("..."), which is no failure of the voice, seconds."""


@dataclass(frozen=True, slots=True)
class VoiceOptions:
    """How a reply is to be spoken."""

    model: str
    """Model id; empty lets the server choose."""
    voice: str | None
    """Voice id; None is the server's default."""
    language: str | None
    """BCP 47 tag; None lets the voice decide."""
    speed: float | None
    """1.0 is the voice's own rate."""
    sample_rate: int
    """Hertz."""

    def generate(self, context_id: str, piece: Piece) -> speak.Generate:
        """The message that sends a piece of text."""
        fields: dict[str, object] = {
            "context_id": context_id,
            "model_id": self.model,
            "transcript": piece.text,
            "continue": not piece.last,
            "output_format": {
                "container": "raw",
                "encoding": "pcm_s16le",
                "sample_rate": self.sample_rate,
            },
            "add_timestamps": True,
        }
        if piece.flush:
            fields["flush"] = True
        if self.voice is not None:
            fields["voice"] = {"mode": "id", "id": self.voice}
        if self.language is not None:
            fields["language"] = self.language
        if self.speed is not None:
            fields["generation_config"] = {"speed": self.speed}
        return speak.Generate.model_validate(fields)


class Reply:
    """Sends text as it comes and pushes audio as it comes.

    A connection that breaks before any audio is the framework's to retry. After audio, it would
    give the reply up or begin it again, so the reply is resumed here: see `reply_text` for where.

    Args:
        socket: the shared connection.
        options: how to speak.
        emitter: takes the audio; initialised for mono int16 at `options.sample_rate`.
        conn_options: `timeout` is also the longest wait for audio that is due, seconds.
        on_first_text: called when the first text is sent.
        on_resume: called with each error that the reply survived.
    """

    def __init__(
        self,
        *,
        socket: SpeakSocket,
        options: VoiceOptions,
        emitter: tts.AudioEmitter,
        conn_options: APIConnectOptions,
        on_first_text: Callable[[], None],
        on_resume: Callable[[APIError], None],
    ) -> None:
        self._socket = socket
        self._options = options
        self._emitter = emitter
        self._conn_options = conn_options
        self._on_first_text = on_first_text
        self._on_resume = on_resume
        self._text = ReplyText()
        self._changed = asyncio.Event()
        self._deadline: asyncio.Timeout | None = None
        self._pushed_bytes = 0
        self._context_started_s = 0.0
        self.acquire_time = 0.0
        """Time until the connection was there, seconds."""
        self.connection_reused = False
        """Whether it was there already."""

    def add(self, token: str) -> None:
        """Take more text."""
        self._text.add(token)
        self._changed.set()

    def flush(self) -> None:
        """Speak what there is without waiting for more."""
        self._text.flush()
        self._changed.set()

    def end(self) -> None:
        """No more text follows."""
        self._text.end()
        self._changed.set()

    @property
    def _pushed_s(self) -> float:
        return self._pushed_bytes / 2 / self._options.sample_rate

    async def speak(self) -> None:
        """Speak until the text has ended and all of its audio was pushed.

        Raises:
            APIError: retryable only while nothing was pushed, so that nothing is said twice.
        """
        failures = 0
        spoke = False
        while await self._wait_for_words():
            try:
                await self._speak_context()
                spoke, failures = True, 0
            except APIError as error:
                if not self._pushed_bytes:
                    raise
                if not error.retryable or failures >= self._conn_options.max_retry:
                    error.retryable = False
                    raise
                await self._pause(error, failures)
                failures += 1
        if spoke and not self._pushed_bytes and not self._text.is_speakable:
            self._push(b"\0\0" * round(_SILENCE_S * self._options.sample_rate))

    async def _pause(self, error: APIError, failures: int) -> None:
        lost = self._text.resume(words_are_timed=self._socket.word_times)
        logger.warning(
            "reply resumed after a failure",
            extra={"error": str(error), "attempt": failures + 1, "lost_chars": lost},
        )
        self._on_resume(error)
        await asyncio.sleep(self._conn_options.retry_interval if failures else FIRST_RETRY_S)

    async def _wait_for_words(self) -> bool:
        while not self._text.has_words_to_send:
            if self._text.ended:
                return False
            self._changed.clear()
            await self._changed.wait()
        return True

    async def _speak_context(self) -> None:
        async with self._socket.context(self._conn_options.timeout) as context:
            self.acquire_time, self.connection_reused = context.acquire_time, context.reused
            self._context_started_s = self._pushed_s
            self._on_first_text()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._receive(context))
                    group.create_task(self._send(context))
            except ExceptionGroup as group:
                # Both sides of one broken connection may fail; either tells the same.
                raise group.exceptions[0] from None

    async def _send(self, context: Context) -> None:
        while not self._text.context_ended:
            piece = self._text.next_piece()
            if piece is None:
                self._changed.clear()
                await self._changed.wait()
                continue
            await context.send(self._options.generate(context.id, piece))
            self._expect()

    async def _receive(self, context: Context) -> None:
        try:
            async with asyncio.timeout(None) as self._deadline:
                self._expect()
                while not context.over:
                    self._take(await context.receive())
                    self._expect()
        except TimeoutError:
            raise APITimeoutError(
                f"no audio from the speech server for {self._conn_options.timeout:g} s"
            ) from None
        finally:
            self._deadline = None

    def _expect(self) -> None:
        """Begin to wait anew; without limit while the server has nothing to say."""
        if self._deadline is not None and not self._deadline.expired():
            now = asyncio.get_running_loop().time()
            waits = self._text.awaits_audio
            self._deadline.reschedule(now + self._conn_options.timeout if waits else None)

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, speak.Chunk):
            pcm = pcm_of(answer)
            self._text.audio_received(len(pcm) / 2 / self._options.sample_rate)
            self._push(pcm)
        elif isinstance(answer, speak.Timestamps):
            times = answer.word_timestamps
            for word, start_s, end_s in zip(times.words, times.start, times.end, strict=False):
                self._push_words(self._text.word_timed(word, end_s), start_s, end_s)
        elif isinstance(answer, speak.FlushDone):
            self._text.flush_answered()
        elif not self._text.context_ended:
            raise APIError("speech server ended a reply whose text had not ended")
        else:
            duration_s = self._pushed_s - self._context_started_s
            self._push_words(self._text.close_context(), duration_s, duration_s)

    def _push(self, pcm: bytes) -> None:
        self._pushed_bytes += len(pcm)
        self._emitter.push(pcm)

    def _push_words(self, text: str, start_s: float, end_s: float) -> None:
        if text.strip():
            begin_s = self._context_started_s
            self._emitter.push_timed_transcript(
                TimedString(text, start_time=begin_s + start_s, end_time=begin_s + end_s)
            )
