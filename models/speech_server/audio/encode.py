"""Audio out: raw sample formats, streamed WAV, and compressed containers as they grow."""

import struct
from typing import Final, Literal, Protocol

import av
import numpy as np
import numpy.typing as npt
from av.audio.stream import AudioStream

from speech_server.audio.pcm import Pcm16, int16_to_float, int16_to_linear16, int16_to_mulaw

RawEncoding = Literal["pcm_s16le", "pcm_f32le", "pcm_mulaw", "pcm_alaw"]
Container = Literal["mp3", "opus", "aac", "flac"]

_UNKNOWN_LENGTH: Final = 0xFFFFFFFF
"""Length in the header of a WAV stream whose end is not known; readers then read to the end."""
_WAV_FORMATS: Final[dict[RawEncoding, tuple[int, int]]] = {
    "pcm_s16le": (1, 16), "pcm_f32le": (3, 32), "pcm_alaw": (6, 8), "pcm_mulaw": (7, 8),
}  # fmt: skip
"""Format tag and bits a sample. Source: RFC 2361, WAVE and AVI codec registries."""
_RAW_CONTENT_TYPES: Final[dict[RawEncoding, str]] = {
    "pcm_s16le": "audio/pcm",
    "pcm_f32le": "application/octet-stream",
    "pcm_mulaw": "audio/PCMU",
    "pcm_alaw": "audio/PCMA",
}
_CONTAINERS: Final[dict[Container, tuple[str, str, str, dict[str, str]]]] = {
    # Without the Xing header, which is written last and at the front.
    "mp3": ("mp3", "libmp3lame", "audio/mpeg", {"write_xing": "0", "id3v2_version": "0"}),
    # Ogg gathers a second of sound in one page unless told; 40 ms, in microseconds.
    "opus": ("ogg", "libopus", "audio/ogg", {"page_duration": "40000"}),
    "aac": ("adts", "aac", "audio/aac", {}),
    "flac": ("flac", "flac", "audio/flac", {}),
}
"""Name on the wire to libav's container, codec, MIME type and container options."""


class AudioEncoder(Protocol):
    """Turns samples into bytes as they come."""

    @property
    def content_type(self) -> str:
        """MIME type of the bytes."""
        ...

    def encode(self, pcm: Pcm16) -> bytes:
        """Encode the next piece.

        Args:
            pcm: int16, (samples,), at the encoder's rate.

        Returns:
            What can be sent now; may be empty while a frame fills.
        """
        ...

    def finish(self) -> bytes:
        """Encode what is held and close the stream."""
        ...


class RawEncoder:
    """Samples without a header.

    Args:
        encoding: sample format.
    """

    def __init__(self, encoding: RawEncoding) -> None:
        self._encoding = encoding

    @property
    def content_type(self) -> str:
        """MIME type of the bytes."""
        return _RAW_CONTENT_TYPES[self._encoding]

    def encode(self, pcm: Pcm16) -> bytes:
        """Encode the next piece, int16 (samples,)."""
        match self._encoding:
            case "pcm_s16le":
                return int16_to_linear16(pcm)
            case "pcm_f32le":
                return int16_to_float(pcm).astype("<f4", copy=False).tobytes()
            case "pcm_mulaw":
                return int16_to_mulaw(pcm)
            case "pcm_alaw":
                return int16_to_alaw(pcm)

    def finish(self) -> bytes:
        """Nothing is held."""
        return b""


class WavEncoder:
    """A WAV file whose length is not known when it begins.

    Args:
        encoding: sample format.
        sample_rate_hz: rate of the samples.
    """

    def __init__(self, encoding: RawEncoding, sample_rate_hz: int) -> None:
        self._raw = RawEncoder(encoding)
        self._header = _wav_header(encoding, sample_rate_hz)

    @property
    def content_type(self) -> str:
        """MIME type of the bytes."""
        return "audio/wav"

    def encode(self, pcm: Pcm16) -> bytes:
        """Encode the next piece, int16 (samples,); the first one carries the header."""
        header, self._header = self._header, b""
        return header + self._raw.encode(pcm)

    def finish(self) -> bytes:
        """The header where no sample came, else nothing."""
        header, self._header = self._header, b""
        return header


class ContainerEncoder:
    """A compressed stream.

    Args:
        container: name on the wire.
        sample_rate_hz: rate of the samples; Opus takes 8, 12, 16, 24 and 48 kHz.
        bit_rate: bits per second; None leaves it to the codec.

    Raises:
        ValueError: the codec does not take this rate or bit rate.
    """

    def __init__(
        self, container: Container, sample_rate_hz: int, bit_rate: int | None = None
    ) -> None:
        format_name, codec, self._content_type, options = _CONTAINERS[container]
        self._sink = _Sink()
        self._rate_hz = sample_rate_hz
        self._position = 0
        try:
            self._output = av.open(self._sink, "w", format=format_name, options=options)
            stream = self._output.add_stream(codec, rate=sample_rate_hz, layout="mono")
            assert isinstance(stream, AudioStream)
            self._stream = stream
            context = stream.codec_context
            if bit_rate is not None:
                context.bit_rate = bit_rate
            context.open()
        except (av.FFmpegError, ValueError, OverflowError) as error:
            raise ValueError(f"{container}: cannot be made at {sample_rate_hz} Hz") from error
        self._framer = av.AudioResampler(
            format=context.format, layout="mono", rate=sample_rate_hz,
            frame_size=context.frame_size or None,
        )  # fmt: skip

    @property
    def content_type(self) -> str:
        """MIME type of the bytes."""
        return self._content_type

    def encode(self, pcm: Pcm16) -> bytes:
        """Encode the next piece, int16 (samples,)."""
        if not len(pcm):
            return b""
        frame = av.AudioFrame.from_ndarray(pcm[np.newaxis, :], format="s16", layout="mono")
        frame.sample_rate = self._rate_hz
        frame.pts = self._position
        self._position += len(pcm)
        self._mux(frame)
        return self._sink.take()

    def finish(self) -> bytes:
        """Encode what is held and close the stream."""
        self._mux(None)
        for packet in self._stream.encode(None):
            self._output.mux(packet)
        self._output.close()
        return self._sink.take()

    def _mux(self, frame: av.AudioFrame | None) -> None:
        for framed in self._framer.resample(frame):
            for packet in self._stream.encode(framed):
                self._output.mux(packet)


class _Sink:
    """A file that libav can write to and not seek in."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        data = bytes(self._data)
        self._data.clear()
        return data


def int16_to_alaw(pcm: Pcm16) -> bytes:
    """Encode as 8-bit A-law. Source: ITU-T G.711.

    Args:
        pcm: int16, (samples,).
    """
    wide = pcm.astype(np.int32)
    # One's complement makes both signs run over the same 0..2047.
    magnitude = np.where(wide < 0, ~wide, wide) >> 4
    exponent = np.maximum(np.floor(np.log2(np.maximum(magnitude, 1))).astype(np.int32) - 3, 0)
    mantissa = (magnitude >> np.maximum(exponent - 1, 0)) & 0x0F
    sign = np.where(wide >= 0, 0x80, 0)
    code: npt.NDArray[np.uint8] = ((sign | (exponent << 4) | mantissa) ^ 0x55).astype(np.uint8)
    return code.tobytes()


def _wav_header(encoding: RawEncoding, sample_rate_hz: int) -> bytes:
    tag, bits = _WAV_FORMATS[encoding]
    frame = bits // 8
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF", _UNKNOWN_LENGTH, b"WAVE",
        b"fmt ", 16, tag, 1, sample_rate_hz, sample_rate_hz * frame, frame, bits,
        b"data", _UNKNOWN_LENGTH,
    )  # fmt: skip
