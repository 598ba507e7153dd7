"""WebRTC's own noise suppression on a caller's audio, in this process, with nothing to fetch.

Only telephone callers need it: browsers and mobile clients suppress noise before they send, and
doing it twice costs words. On a quiet telephone line it costs words as well; on a noisy one it
saves as many as it costs, by the kind of noise (`python -m bench.noise`). So the agent hears it on
noisy lines only.
"""

import logging
from typing import Final

import numpy as np
from livekit import rtc
from livekit.agents.voice.room_io.types import NoiseCancellationParams

from voice_agent.noise_floor import NoiseFloor

logger = logging.getLogger(__name__)

BLOCK_S: Final = 0.01
"""WebRTC's audio processing takes exactly 10 ms at a time."""
_NOISY_RMS: Final = 2**15 * 10 ** (-45 / 20)
_QUIET_RMS: Final = 2**15 * 10 ** (-50 / 20)
"""Noise from which it is suppressed, and below which no longer, int16: 25 and 30 dB below a voice
at -20 dBFS. White noise of 28 dB below it and quieter gains nothing from it."""


def suppress_noise(caller: NoiseCancellationParams) -> "NoiseSuppressor | None":
    """Choose for one caller: LiveKit asks whenever it begins to listen to a track."""
    if caller.participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_SIP:
        return NoiseSuppressor()
    return None


class NoiseSuppressor(rtc.FrameProcessor[rtc.AudioFrame]):
    """Noise suppression and a high-pass filter for one caller's stream, while its line is noisy.

    Takes frames of any rate and of any length that is a multiple of 10 ms; others pass through
    untouched, because cutting them would shift every later frame.
    """

    def __init__(self) -> None:
        self._module: rtc.AudioProcessingModule | None = rtc.AudioProcessingModule(
            noise_suppression=True, high_pass_filter=True
        )
        self._enabled = True
        self._floor = NoiseFloor()
        self._noisy = False

    @property
    def enabled(self) -> bool:
        """Whether frames are processed."""
        return self._enabled and self._module is not None

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._enabled = value

    def _process(self, frame: rtc.AudioFrame) -> rtc.AudioFrame:
        block = round(frame.sample_rate * BLOCK_S)
        if self._module is None or frame.samples_per_channel % block:
            return frame
        block_bytes = block * frame.num_channels * 2
        pcm = frame.data.cast("B")
        processed = bytearray()
        # Also on a quiet line: it has to know the noise by the time that is too much.
        for start in range(0, len(pcm), block_bytes):
            part = rtc.AudioFrame(
                pcm[start : start + block_bytes], frame.sample_rate, frame.num_channels, block
            )
            try:
                self._module.process_stream(part)
            except RuntimeError as error:
                # a caller with noise is better than a caller who cannot be heard
                logger.warning("noise suppression turned off", extra={"reason": str(error)})
                self._module = None
                return frame
            processed += part.data.cast("B")
            self._floor.hear(np.frombuffer(pcm[start : start + block_bytes], np.int16))
        self._noisy = self._floor.rms > (_QUIET_RMS if self._noisy else _NOISY_RMS)
        if not self._noisy:
            return frame
        return rtc.AudioFrame(
            processed, frame.sample_rate, frame.num_channels, frame.samples_per_channel
        )

    def _close(self) -> None:
        self._module = None
