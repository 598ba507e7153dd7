"""Loads one recorded turn from a WAV file, or says exactly why it cannot be spoken.

Any PCM WAV will do (8, 16, 24 or 32 bits, 32-bit float, any usual rate, one or more channels): it
becomes mono at the call's rate. The standard library's `wave` does not read the extensible header
that most 24-bit files have, hence this small reader.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

from voice_agent.caller.errors import BadInput
from voice_agent.caller.sound import RATE_HZ, Pcm16, audible_indices

EXPECTED = (
    "expected a PCM WAV file: 8, 16, 24 or 32 bits, 8 to 192 kHz, 1 to 8 channels, "
    "up to 60 seconds of audible speech"
)
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Larger files are not read: a minute of 192 kHz, 24 bits, stereo is 66 MB; nobody needs that."""
MAX_SPEECH_S = 60.0
"""Longest recording, seconds: one turn of a conversation."""
MAX_SIDECAR_BYTES = 64 * 1024
"""Longest text file beside a recording."""

_PCM, _FLOAT, _EXTENSIBLE = 0x0001, 0x0003, 0xFFFE
_STREAMED_BYTES = 0x7FFF_0000
"""Programs that write to a pipe cannot know the length; they put a number near 2 or 4 GiB."""


@dataclass(frozen=True)
class Utterance:
    """One recorded turn, ready to be spoken."""

    name: str
    """The file's name."""
    text: str
    """The words: of the `.txt` file beside the recording, else the file's name."""
    samples: Pcm16
    """The recording at `sound.RATE_HZ`."""
    last_audible: int
    """Index of the last audible sample: the end of the caller's speech."""

    @property
    def duration_s(self) -> float:
        """Length with the silence at its ends, seconds."""
        return len(self.samples) / RATE_HZ


@dataclass(frozen=True)
class _Format:
    """The `fmt ` chunk."""

    is_float: bool
    channels: int
    rate_hz: int
    bits: int


def load_utterance(path: Path) -> Utterance:
    """Read, check and convert one recording.

    Raises:
        BadInput: the file is missing, not a WAV file, in a form we do not read, cut off, empty,
            silent or too long. The message names the file, the reason and what is expected.
    """
    try:
        data = _read(path)
        wav_format, body = _chunks(data)
        samples = _to_call_format(_decode(wav_format, body), wav_format.rate_hz)
    except _UnusableWav as error:
        raise BadInput(f"{path}: {error}; {EXPECTED}") from None
    audible = audible_indices(samples)
    if audible is None:
        raise BadInput(f"{path}: is silent, nobody would hear it; {EXPECTED}")
    return Utterance(
        name=path.name, text=_sidecar_text(path), samples=samples, last_audible=audible[1]
    )


class _UnusableWav(Exception):
    """Why, without the file's name."""


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise _UnusableWav("there is no such file") from None
    except OSError as error:
        raise _UnusableWav(f"cannot be read ({error.strerror})") from None
    if not data:
        raise _UnusableWav("is empty")
    if len(data) > MAX_FILE_BYTES:
        raise _UnusableWav(f"is larger than {MAX_FILE_BYTES // 2**20} MiB")
    return data


def _chunks(data: bytes) -> tuple[_Format, bytes]:
    """Walk the RIFF chunks; return the format and the samples' bytes."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _UnusableWav("is not a WAV file")
    wav_format: _Format | None = None
    position = 12
    while position + 8 <= len(data):
        name = data[position : position + 4]
        (size,) = struct.unpack_from("<I", data, position + 4)
        body = data[position + 8 : position + 8 + size]
        if name == b"fmt ":
            wav_format = _parse_format(body)
        elif name == b"data":
            if wav_format is None:
                raise _UnusableWav("is damaged: its samples come before their format")
            if len(body) < size < _STREAMED_BYTES:
                raise _UnusableWav(f"is cut off: {size} bytes announced, {len(body)} there")
            return wav_format, body
        position += 8 + size + size % 2  # chunks start at even offsets
    raise _UnusableWav("is damaged: it holds no samples")


def _parse_format(body: bytes) -> _Format:
    if len(body) < 16:
        raise _UnusableWav("is damaged: its format is cut off")
    tag, channels, rate_hz, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if tag == _EXTENSIBLE and len(body) >= 26:
        (tag,) = struct.unpack_from("<H", body, 24)
    if tag not in (_PCM, _FLOAT):
        raise _UnusableWav(f"is compressed (WAV format {tag})")
    if bits not in ((32,) if tag == _FLOAT else (8, 16, 24, 32)):
        raise _UnusableWav(f"has {bits}-bit {'float ' if tag == _FLOAT else ''}samples")
    if not 1 <= channels <= 8:
        raise _UnusableWav(f"has {channels} channels")
    if not 8_000 <= rate_hz <= 192_000:
        raise _UnusableWav(f"has {rate_hz} samples a second")
    return _Format(is_float=tag == _FLOAT, channels=channels, rate_hz=rate_hz, bits=bits)


def _decode(wav_format: _Format, body: bytes) -> npt.NDArray[np.float32]:
    """Mono float32 samples in [-1, 1], shape (samples,)."""
    frame_bytes = wav_format.channels * wav_format.bits // 8
    frames = len(body) // frame_bytes
    if not frames:
        raise _UnusableWav("holds no samples")
    if frames > MAX_SPEECH_S * wav_format.rate_hz:
        raise _UnusableWav(f"lasts {frames / wav_format.rate_hz:.0f} seconds")
    body = body[: frames * frame_bytes]
    if wav_format.is_float:
        # a float file may hold anything, also "not a number"
        samples = np.nan_to_num(np.frombuffer(body, "<f4")).clip(-1, 1)
    elif wav_format.bits == 8:
        samples = (np.frombuffer(body, np.uint8).astype(np.float32) - 128) / 128
    elif wav_format.bits == 16:
        samples = np.frombuffer(body, "<i2").astype(np.float32) / 2**15
    elif wav_format.bits == 24:
        # the three bytes become the upper three of a 32-bit number, which keeps the sign
        wide = np.zeros((frames * wav_format.channels, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(body, np.uint8).reshape(-1, 3)
        samples = wide.view("<i4").ravel().astype(np.float32) / 2**31
    else:
        samples = np.frombuffer(body, "<i4").astype(np.float32) / 2**31
    mono: npt.NDArray[np.float32] = samples.reshape(frames, wav_format.channels).mean(
        axis=1, dtype=np.float32
    )
    return mono


def _to_call_format(mono: npt.NDArray[np.float32], rate_hz: int) -> Pcm16:
    if rate_hz != RATE_HZ:
        mono = soxr.resample(mono, rate_hz, RATE_HZ)
    return np.clip(np.rint(mono * 2**15), -(2**15), 2**15 - 1).astype(np.int16)


def _sidecar_text(path: Path) -> str:
    """Words from the `.txt` file beside the recording, where there is one that can be read."""
    try:
        with path.with_suffix(".txt").open("rb") as file:
            text = file.read(MAX_SIDECAR_BYTES).decode("utf-8", errors="replace").strip()
    except OSError:
        return path.name
    return text or path.name
