"""One caller's audio on its way to the speech server, and the transcripts on their way back."""

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from livekit import rtc
from livekit.agents import (
    APIConnectionError,
    APIConnectOptions,
    APITimeoutError,
    stt,
)

from speech_plugins.audio_log import AudioLog
from speech_plugins.connection import Socket, SpeechServer, parse, server_error
from speech_plugins.model_rate import MODEL_RATE_HZ, ModelRateResampler
from speech_plugins.speech_events import Reading, SpeechEvents, wall_clock
from speech_plugins.turn_taking import TurnTakerFactory
from speech_server.protocol import listen

logger = logging.getLogger(__name__)

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


@dataclass(frozen=True, slots=True)
class _Flush:
    """What to do with the answer to a flush."""

    speech_end: int | None = None
    """Where the last speech stopped, in samples of the stream; None: not known."""
    aside: bool = False
    """Keep the words and tell nobody."""


class RecognizeStream(stt.RecognizeStream):
    """Sends frames as they come; emits what LiveKit's turn-taking wants, each thing once.

    `FINAL_TRANSCRIPT` answers a flush and nothing else: the framework appends every final to the
    turn, so one sent early would be in it twice. What the server finalises by itself (an utterance
    longer than it takes) is held and put before the next final. A flush with nothing said is
    answered with nothing.

    `END_OF_SPEECH` follows the final. With a turn detector or a VAD the framework ignores it; with
    `turn_detection="stt"` it commits the turn, for which the final must have come first.

    After a reconnect, audio that no final covers is sent again, flushes included.

    With a `turn_taker` it is a `TurnLine` as well: the taker hears and reads everything, and it
    flushes when the turn is over.
    """

    def __init__(
        self,
        *,
        stt: stt.STT,
        server: SpeechServer,
        params: dict[str, str],
        language: str | None,
        conn_options: APIConnectOptions,
        turn_taker: TurnTakerFactory | None = None,
    ) -> None:
        super().__init__(stt=stt, conn_options=conn_options)
        self._rate = ModelRateResampler()
        self._server = server
        self._params = params
        self._log = AudioLog()
        self._events = SpeechEvents(self._event_ch.send_nowait, language or "")
        self._flushes: deque[_Flush] = deque()
        self._usage_s = 0.0
        self._origin_s: float | None = None
        self._connected_at = 0
        self._closing = False
        self._last_sent = 0.0
        self._deadline: asyncio.Timeout | None = None
        self._taker = turn_taker(self) if turn_taker is not None else None

    # --- as a `TurnLine` ---

    def end_turn(self, speech_end: int) -> None:
        """See `TurnLine.end_turn`."""
        self._flush(_Flush(speech_end))

    def set_aside(self) -> None:
        """See `TurnLine.set_aside`."""
        self._flush(_Flush(aside=True))

    def take_up(self) -> None:
        """See `TurnLine.take_up`."""
        self._events.take_up()

    def reopen(self) -> None:
        """See `TurnLine.reopen`."""
        self._events.reopen()

    def flush(self) -> None:
        """Ask for the final transcript of what was heard so far; see the base class."""
        self._flush(_Flush())

    def _flush(self, flush: _Flush) -> None:
        super().flush()
        self._flushes.append(flush)

    def end_input(self) -> None:
        """No more audio follows; see the base class."""
        self._dismiss_taker()
        super().end_input()

    async def aclose(self) -> None:
        """End the stream at once; see the base class."""
        self._dismiss_taker()
        await super().aclose()

    def _dismiss_taker(self) -> None:
        taker, self._taker = self._taker, None
        if taker is not None:
            taker.close()

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
                pcm = self._rate.push(data)
                self._log.add(pcm)
                self._forget_old_audio()
                await socket.send(pcm)
                if self._taker is not None:
                    self._taker.hear(np.frombuffer(pcm, np.int16))
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
        speech = self._events.speaking or self._log.awaits_answer
        kept_s = _KEPT_SPEECH_S if speech else _KEPT_SILENCE_S
        self._log.forget_before(self._log.end - round(kept_s * MODEL_RATE_HZ))

    async def _keep_alive(self, socket: Socket) -> None:
        while True:
            await asyncio.sleep(_KEEP_ALIVE_S)
            if time.monotonic() - self._last_sent >= _KEEP_ALIVE_S and not self._closing:
                await socket.send(listen.KeepAlive(type="KeepAlive"))

    def _report_usage(self) -> None:
        if self._usage_s:
            self._events.usage(self._usage_s)
            self._usage_s = 0.0

    # --- from the server ---

    async def _receive(self, socket: Socket) -> None:
        try:
            async with asyncio.timeout(None) as self._deadline:
                self._expect_final()
                while True:
                    message = parse(listen.SERVER_MESSAGE, await socket.receive())
                    if isinstance(message, listen.Metadata):
                        self._events.end(None, None)
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
            onset = self._position(message.timestamp)
            self._events.start(wall_clock(self._log.end - onset, MODEL_RATE_HZ))
        elif isinstance(message, listen.Results) and message.channel.alternatives:
            self._events.answered_by(message.metadata.request_id)
            self._take_results(message, message.channel.alternatives[0])

    def _take_results(self, results: listen.Results, best: listen.Alternative) -> None:
        offset_s = (self._origin_s or 0.0) + self._connected_at / MODEL_RATE_HZ
        reading = Reading(results, best, offset_s)
        covered = self._position(results.start + results.duration)
        if results.from_finalize and self._log.awaits_answer:
            self._log.flush_answered()
            self._expect_final()
            self._take_answer(reading)
        elif results.is_final:
            # Finalised unasked, for its length; the answer to the flush will not repeat it.
            self._log.forget_before(covered)
            self._events.hold(best.transcript)
        elif best.transcript and results.preflight:
            text = self._events.preflight(reading)
            if self._taker is not None:
                self._taker.read(text, covered)
        elif best.transcript:
            self._events.interim(reading)

    def _take_answer(self, reading: Reading) -> None:
        """Do with the answer to the oldest flush what was meant to be done with it."""
        flush = self._flushes.popleft() if self._flushes else _Flush()
        if flush.aside:
            self._events.set_aside(reading)
            return
        ended_at = None
        if flush.speech_end is not None:
            ended_at = wall_clock(self._log.end - flush.speech_end, MODEL_RATE_HZ)
        self._events.end(reading, ended_at)

    def _position(self, seconds: float) -> int:
        """Which sample of the stream a time of the server's is; it counts from the connection."""
        return self._connected_at + round(seconds * MODEL_RATE_HZ)
