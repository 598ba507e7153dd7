"""One caller's audio on its way to the speech server, and the transcripts on their way back."""

import asyncio
import logging
import time
from collections.abc import Iterable

from livekit import rtc
from livekit.agents import (
    APIConnectionError,
    APIConnectOptions,
    APITimeoutError,
    LanguageCode,
    stt,
)
from livekit.agents.types import TimedString

from speech_plugins.audio_log import AudioLog
from speech_plugins.connection import Socket, SpeechServer, parse, server_error
from speech_server.protocol import listen

logger = logging.getLogger(__name__)

SAMPLE_RATE_HZ = 16_000
"""Rate that speech models take. The session keeps its 24 kHz; the base class resamples."""

_PATH = "/v1/listen"
_KEEP_ALIVE_S = 5.0
"""Silence on the line after which we say that we are there: a muted caller sends no audio."""
_FINAL_TIMEOUT_S = 10.0
"""Longest wait for the answer to a flush, seconds; then the server counts as stuck."""
_USAGE_INTERVAL_S = 5.0
"""Audio between two usage events, seconds; as LiveKit's own plugins report."""
_KEPT_SPEECH_S = 30.0
"""Most audio kept to be sent again: the longest utterance that the server takes, seconds."""
_KEPT_SILENCE_S = 5.0
"""Audio kept while nobody speaks, seconds: enough for a beginning not yet recognised as such."""


class RecognizeStream(stt.RecognizeStream):
    """Sends frames as they come; emits what LiveKit's turn-taking wants, each thing once.

    `FINAL_TRANSCRIPT` answers a flush and nothing else: the framework appends every final to the
    turn, so one sent early would be in it twice. What the server finalises by itself (an utterance
    longer than it takes) is held and put before the next final. A flush with nothing said is
    answered with nothing.

    `END_OF_SPEECH` follows the final. With a turn detector or a VAD the framework ignores it; with
    `turn_detection="stt"` it commits the turn, for which the final must have come first.

    After a reconnect, audio that no final covers is sent again, flushes included.
    """

    def __init__(
        self,
        *,
        stt: stt.STT,
        server: SpeechServer,
        params: dict[str, str],
        language: str | None,
        conn_options: APIConnectOptions,
    ) -> None:
        super().__init__(stt=stt, conn_options=conn_options, sample_rate=SAMPLE_RATE_HZ)
        self._server = server
        self._params = params
        self._language = language or ""
        self._log = AudioLog()
        self._held: list[str] = []
        self._speaking = False
        self._request_id = ""
        self._usage_s = 0.0
        self._origin_s: float | None = None
        self._connected_at = 0
        self._closing = False
        self._last_sent = 0.0
        self._deadline: asyncio.Timeout | None = None

    async def _run(self) -> None:
        if self._origin_s is None:
            # Later runs begin with audio sent again, so the framework's new offset is not ours.
            self._origin_s = self.start_time_offset
        started = time.perf_counter()
        socket = await self._server.connect(
            _PATH, params=self._params, timeout=self._conn_options.timeout
        )
        self._report_connection_acquired(time.perf_counter() - started, False)
        self._closing = False
        self._connected_at = self._log.start
        try:
            async with asyncio.TaskGroup() as group:
                beside = [
                    group.create_task(self._send(socket), name="stt sender"),
                    group.create_task(self._keep_alive(socket), name="stt keep-alive"),
                ]
                await self._receive(socket)
                for task in beside:
                    task.cancel()
        except ExceptionGroup as group:
            # Several sides of one broken connection may fail; each tells the same.
            raise group.exceptions[0] from None
        finally:
            self._report_usage()
            await socket.close()

    # --- to the server ---

    async def _send(self, socket: Socket) -> None:
        for item in self._log:
            await socket.send(listen.Finalize(type="Finalize") if item is None else item)
        async for data in self._input_ch:
            # Into the log first: what is lost with the connection is sent again from there.
            if isinstance(data, rtc.AudioFrame):
                pcm = bytes(data.data)
                self._log.add(pcm)
                self._forget_old_audio()
                await socket.send(pcm)
                self._usage_s += data.duration
                if self._usage_s >= _USAGE_INTERVAL_S:
                    self._report_usage()
            else:
                self._log.flush()
                await socket.send(listen.Finalize(type="Finalize"))
                self._expect_final()
            self._last_sent = time.monotonic()
        self._closing = True
        await socket.send(listen.CloseStream(type="CloseStream"))
        await asyncio.sleep(_FINAL_TIMEOUT_S)
        raise APITimeoutError("the speech server did not end the stream in time")

    def _forget_old_audio(self) -> None:
        speech = self._speaking or self._log.awaits_answer
        kept_s = _KEPT_SPEECH_S if speech else _KEPT_SILENCE_S
        self._log.forget_before(self._log.end - round(kept_s * SAMPLE_RATE_HZ))

    async def _keep_alive(self, socket: Socket) -> None:
        while True:
            await asyncio.sleep(_KEEP_ALIVE_S)
            if time.monotonic() - self._last_sent >= _KEEP_ALIVE_S and not self._closing:
                await socket.send(listen.KeepAlive(type="KeepAlive"))

    def _report_usage(self) -> None:
        if self._usage_s:
            self._event_ch.send_nowait(
                stt.SpeechEvent(
                    type=stt.SpeechEventType.RECOGNITION_USAGE,
                    request_id=self._request_id,
                    recognition_usage=stt.RecognitionUsage(audio_duration=self._usage_s),
                )
            )
            self._usage_s = 0.0

    # --- from the server ---

    async def _receive(self, socket: Socket) -> None:
        try:
            async with asyncio.timeout(None) as self._deadline:
                self._expect_final()
                while True:
                    message = parse(listen.SERVER_MESSAGE, await socket.receive())
                    if isinstance(message, listen.Metadata):
                        self._emit_final("", None)
                        return
                    self._take(message)
        except TimeoutError:
            raise APITimeoutError("no final transcript from the speech server") from None
        except APIConnectionError:
            if not self._closing:
                raise
        finally:
            self._deadline = None

    def _expect_final(self) -> None:
        """Wait with a limit while a flush is unanswered, without one otherwise."""
        if self._deadline is not None and not self._deadline.expired():
            now = asyncio.get_running_loop().time()
            waits = self._log.awaits_answer
            self._deadline.reschedule(now + _FINAL_TIMEOUT_S if waits else None)

    def _take(
        self, message: listen.SpeechStarted | listen.Results | listen.UtteranceEnd | listen.Error
    ) -> None:
        if isinstance(message, listen.Error):
            raise server_error(message.code, message.description, retryable=message.retryable)
        if isinstance(message, listen.SpeechStarted):
            self._emit_start(message.timestamp)
        elif isinstance(message, listen.Results) and message.channel.alternatives:
            self._request_id = message.metadata.request_id
            self._take_results(message, message.channel.alternatives[0])

    def _take_results(self, results: listen.Results, best: listen.Alternative) -> None:
        if results.from_finalize and self._log.awaits_answer:
            self._log.flush_answered()
            self._expect_final()
            self._emit_final(best.transcript, (results, best))
        elif results.is_final:
            # Finalised unasked, for its length; the answer to the flush will not repeat it.
            covered_s = results.start + results.duration
            self._log.forget_before(self._connected_at + round(covered_s * SAMPLE_RATE_HZ))
            self._held += [best.transcript] if best.transcript else []
        elif best.transcript:
            kind = stt.SpeechEventType
            self._emit(
                kind.PREFLIGHT_TRANSCRIPT if results.preflight else kind.INTERIM_TRANSCRIPT,
                self._speech_data(best.transcript, (results, best)),
            )

    def _emit_start(self, onset_s: float | None) -> None:
        if self._speaking:
            return
        self._speaking = True
        onset_time = None
        if onset_s is not None:
            sent_s = (self._log.end - self._connected_at) / SAMPLE_RATE_HZ
            onset_time = time.time() - max(0.0, sent_s - onset_s)
        self._event_ch.send_nowait(
            stt.SpeechEvent(
                type=stt.SpeechEventType.START_OF_SPEECH,
                request_id=self._request_id,
                speech_start_time=onset_time,
            )
        )

    def _emit_final(
        self, text: str, source: tuple[listen.Results, listen.Alternative] | None
    ) -> None:
        data = self._speech_data(text, source)
        self._held.clear()
        if data.text:
            self._emit(stt.SpeechEventType.FINAL_TRANSCRIPT, data)
        if self._speaking:
            self._speaking = False
            self._event_ch.send_nowait(
                stt.SpeechEvent(type=stt.SpeechEventType.END_OF_SPEECH, request_id=self._request_id)
            )

    def _emit(self, kind: stt.SpeechEventType, data: stt.SpeechData) -> None:
        self._emit_start(None)
        self._event_ch.send_nowait(
            stt.SpeechEvent(type=kind, request_id=self._request_id, alternatives=[data])
        )

    def _speech_data(
        self, text: str, source: tuple[listen.Results, listen.Alternative] | None
    ) -> stt.SpeechData:
        whole = " ".join(part for part in (*self._held, text) if part)
        data = stt.SpeechData(language=LanguageCode(self._language), text=whole)
        if source is None:
            return data
        results, best = source
        offset_s = (self._origin_s or 0.0) + self._connected_at / SAMPLE_RATE_HZ
        if best.languages:
            data.language = LanguageCode(best.languages[0])
        if best.confidence is not None:
            data.confidence = best.confidence
        data.start_time = offset_s + results.start
        data.end_time = offset_s + results.start + results.duration
        if best.words and not self._held:
            # Held text has no words here, so a list would cover a part of the text only.
            data.words = list(_timed(best.words, offset_s))
            data.start_time = offset_s + best.words[0].start
            data.end_time = offset_s + best.words[-1].end
        return data


def _timed(words: Iterable[listen.ListenWord], offset_s: float) -> Iterable[TimedString]:
    for word in words:
        timed = TimedString(
            word.punctuated_word,
            start_time=offset_s + word.start,
            end_time=offset_s + word.end,
            start_time_offset=offset_s,
        )
        if word.confidence is not None:
            timed.confidence = word.confidence
        yield timed
