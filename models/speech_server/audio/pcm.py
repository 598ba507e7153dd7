"""Sample formats: linear16, mu-law and float32, converted without loss of range or a NaN."""

from typing import Final

import numpy as np
import numpy.typing as npt

Pcm16 = npt.NDArray[np.int16]
"""int16, shape (samples,), mono."""
PcmFloat = npt.NDArray[np.float32]
"""float32, shape (samples,), mono, in [-1, 1]."""

_FULL_SCALE: Final = 32768.0
_MULAW_BIAS: Final = 0x84
_MULAW_CLIP: Final = 32635
"""Source of both: ITU-T G.711, mu-law, in 16-bit form."""


def _mulaw_table() -> Pcm16:
    """All 256 mu-law codes as int16. Source: ITU-T G.711."""
    code = ~np.arange(256, dtype=np.uint8)
    exponent = (code >> 4) & 0x07
    mantissa = (code & 0x0F).astype(np.int32)
    magnitude = (((mantissa << 3) + _MULAW_BIAS) << exponent.astype(np.int32)) - _MULAW_BIAS
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)


_MULAW_TO_INT16: Final = _mulaw_table()


def linear16_to_int16(data: bytes | bytearray | memoryview) -> Pcm16:
    """Read little-endian 16-bit samples.

    Args:
        data: an even number of bytes.

    Returns:
        int16, (len(data) / 2,). A view of `data` where the machine is little-endian.

    Raises:
        ValueError: the number of bytes is odd.
    """
    return np.frombuffer(data, dtype="<i2").astype(np.int16, copy=False)


def int16_to_linear16(pcm: Pcm16) -> bytes:
    """Write samples as little-endian 16-bit bytes.

    Args:
        pcm: int16, (samples,).
    """
    return pcm.astype("<i2", copy=False).tobytes()


def mulaw_to_int16(data: bytes | bytearray | memoryview) -> Pcm16:
    """Decode 8-bit mu-law, one byte a sample.

    Returns:
        int16, (len(data),), in [-32124, 32124].
    """
    return _MULAW_TO_INT16[np.frombuffer(data, dtype=np.uint8)]


def int16_to_mulaw(pcm: Pcm16) -> bytes:
    """Encode as 8-bit mu-law.

    Args:
        pcm: int16, (samples,).
    """
    wide = pcm.astype(np.int32)
    sign = np.where(wide < 0, 0x80, 0)
    magnitude = np.minimum(np.abs(wide), _MULAW_CLIP) + _MULAW_BIAS
    # The bias makes every magnitude at least 132, so the highest set bit lies in 7..14.
    exponent = np.floor(np.log2(magnitude)).astype(np.int32) - 7
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    code: npt.NDArray[np.uint8] = (~(sign | (exponent << 4) | mantissa) & 0xFF).astype(np.uint8)
    return code.tobytes()


def int16_to_float(pcm: Pcm16) -> PcmFloat:
    """Scale int16 to float32 in [-1, 1)."""
    return pcm.astype(np.float32) / np.float32(_FULL_SCALE)


def float_to_int16(pcm: npt.NDArray[np.floating]) -> Pcm16:
    """Scale floats in [-1, 1] to int16; louder samples are clipped, NaN becomes silence.

    Args:
        pcm: (samples,), any float type.
    """
    scaled = np.nan_to_num(pcm, nan=0.0, posinf=1.0, neginf=-1.0) * _FULL_SCALE
    clipped: Pcm16 = np.clip(np.rint(scaled), -32768, 32767).astype(np.int16)
    return clipped
