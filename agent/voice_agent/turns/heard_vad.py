"""What the turn taker hears, told to the framework: a voice activity detector without a model.

With turns of our own the framework still wants one: it takes the caller's state from it, and holds
back what the agent says next while the caller speaks. A second model on the same audio would cost
every call another 0.05 cores (Silero's plugin, measured at real time) and say the same.
"""

import asyncio
import weakref
from typing import Final

from livekit import rtc
from livekit.agents import vad

from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, Heard

_WINDOW_S: Final = WINDOW_SAMPLES / RATE_HZ
_BEGINNING_S: Final = 2 * _WINDOW_S
"""Speech that is over by the time it is known to be speech, seconds."""


class HeardVad(vad.VAD):
    """Tells every stream that the framework has open what `hear` is given.

    Args:
        min_silence_s: silence after which speech is over.
    """

    def __init__(self, min_silence_s: float) -> None:
        super().__init__(capabilities=vad.VADCapabilities(update_interval=_WINDOW_S))
        self._min_silence_s = min_silence_s
        self._streams: weakref.WeakSet[_HeardStream] = weakref.WeakSet()

    @property
    def min_silence_duration(self) -> float:
        """Silence after which speech is over, seconds."""
        return self._min_silence_s

    def stream(self) -> vad.VADStream:
        """Open a stream; see the base class."""
        stream = _HeardStream(self, self._min_silence_s)
        self._streams.add(stream)
        return stream

    def hear(self, heard: Heard) -> None:
        """Take what the next window holds."""
        for stream in self._streams:
            stream.hear(heard)


class _HeardStream(vad.VADStream):
    def __init__(self, owner: HeardVad, min_silence_s: float) -> None:
        super().__init__(owner)
        self._min_silence_s = min_silence_s
        self._speaking = False
        self._speech_s = 0.0
        """From its beginning, the silences in it included."""
        self._silence_s = 0.0
        """Since the last speech."""
        self._unbroken_s = 0.0
        """Speech without a silence."""

    async def _main_task(self) -> None:
        await asyncio.Event().wait()  # until cancelled by `aclose`: `hear` does the work

    def push_frame(self, frame: rtc.AudioFrame) -> None:
        """Leave the audio alone: the turn taker hears the same."""

    def flush(self) -> None:
        """Forget the speech of now; see the base class."""
        self._check_not_closed()
        self._speaking = False
        self._unbroken_s = 0.0

    def hear(self, heard: Heard) -> None:
        """See `HeardVad.hear`."""
        if self._event_ch.closed or not (heard.speech or self._speaking):
            return
        began = heard.speech and not self._speaking
        if heard.speech:
            self._silence_s = 0.0
            self._unbroken_s += _WINDOW_S
        else:
            self._silence_s += _WINDOW_S
            self._unbroken_s = 0.0
        if began:
            self._speaking = True
            self._speech_s = self._unbroken_s = _BEGINNING_S
            self._tell(vad.VADEventType.START_OF_SPEECH, heard)
        else:
            self._speech_s += _WINDOW_S
        self._tell(vad.VADEventType.INFERENCE_DONE, heard)
        if self._silence_s >= self._min_silence_s:
            self._speaking = False
            self._tell(vad.VADEventType.END_OF_SPEECH, heard)

    def _tell(self, kind: vad.VADEventType, heard: Heard) -> None:
        self._event_ch.send_nowait(
            vad.VADEvent(
                type=kind,
                samples_index=heard.position,
                timestamp=heard.position / RATE_HZ,
                speech_duration=self._speech_s,
                silence_duration=self._silence_s,
                probability=float(heard.speech),
                speaking=self._speaking,
                raw_accumulated_silence=self._silence_s,
                raw_accumulated_speech=self._unbroken_s,
            )
        )
