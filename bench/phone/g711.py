"""The telephone's sound: G.711 mu-law, 8 kHz, as tables."""

from typing import Final

import numpy as np
import numpy.typing as npt

from voice_agent.caller.sound import Pcm16

RATE_HZ: Final = 8000
PAYLOAD_TYPE: Final = 0
"""Of PCMU in RTP. Source: RFC 3551, table 4."""

_BIAS: Final = 132
_CLIP: Final = 32_635
"""Largest magnitude that has a code, on a scale of 16 bits. Source of both, and of the layout of a
byte (sign, three bits of exponent, four of mantissa, all inverted): ITU-T G.711, table 2a."""


def encode(pcm: Pcm16) -> bytes:
    """One byte a sample.

    Args:
        pcm: int16, (samples,), 8 kHz.
    """
    return _CODES[pcm.view(np.uint16)].tobytes()


def decode(payload: bytes) -> Pcm16:
    """The samples of a payload: int16, (bytes,), 8 kHz."""
    return _SAMPLES[np.frombuffer(payload, np.uint8)]


def _codes() -> npt.NDArray[np.uint8]:
    """The byte of each sample, by the sample's bits."""
    samples = np.arange(2**16, dtype=np.uint16).view(np.int16).astype(np.int32)
    magnitude = np.minimum(np.abs(samples), _CLIP) + _BIAS
    exponent = np.floor(np.log2(magnitude)).astype(np.int32) - 7
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    sign = np.where(samples < 0, 0x80, 0)
    codes: npt.NDArray[np.uint8] = (~(sign | exponent << 4 | mantissa)).astype(np.uint8)
    return codes


def _samples() -> Pcm16:
    """The sample of each byte."""
    codes = ~np.arange(2**8, dtype=np.uint8)
    exponent, mantissa = (codes.astype(np.int32) >> 4) & 0x07, codes.astype(np.int32) & 0x0F
    magnitude = (((mantissa << 3) + _BIAS) << exponent) - _BIAS
    return np.where(codes & 0x80, -magnitude, magnitude).astype(np.int16)


_CODES: Final = _codes()
_SAMPLES: Final = _samples()
