"""The decoder process: a file on stdin, 16 kHz mono int16 on stdout, the verdict as exit status.

Started by `audio/decode.py`. It limits itself before it reads the first byte.
"""

import contextlib
import io
import resource
import sys
from typing import BinaryIO, Final

OUTPUT_RATE_HZ: Final = 16_000

EXIT_OK: Final = 0
EXIT_TOO_LONG: Final = 10
EXIT_UNREADABLE: Final = 11
EXIT_NO_AUDIO: Final = 12

_MAX_MEMORY_BYTES: Final = 1 << 30
"""Address space. The libraries map about 300 MB, the largest upload needs 25 MB twice."""

_CONTAINERS: Final = "wav,w64,mp3,flac,ogg,matroska,webm,mov,mp4,m4a,3gp,aac,amr,aiff,caf"
_CODECS: Final = (
    "pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,"
    "pcm_f64be,pcm_u8,pcm_s8,pcm_mulaw,pcm_alaw,adpcm_ms,adpcm_ima_wav,mp3,mp3float,flac,vorbis,"
    "libvorbis,opus,libopus,aac,aac_fixed,alac,amrnb,amrwb,libopencore_amrnb,libopencore_amrwb"
)
_OPTIONS: Final = {
    "format_whitelist": _CONTAINERS,
    "codec_whitelist": _CODECS,
    # The upload is read from memory. No reference inside it is followed anywhere.
    "protocol_whitelist": "pipe",
}


def _limit(cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))


def _decode(data: bytes, output: BinaryIO, max_samples: int) -> int:
    import av  # after the limits: loading it is already bounded

    written = 0
    try:
        with av.open(io.BytesIO(data), mode="r", options=_OPTIONS) as container:
            if not container.streams.audio:
                return EXIT_NO_AUDIO
            stream = container.streams.audio[0]
            # libav has no decoder at all for some formats that a header can name.
            if not stream.codec_context or stream.codec_context.name not in _CODECS.split(","):
                return EXIT_UNREADABLE
            resampler = av.AudioResampler(format="s16", layout="mono", rate=OUTPUT_RATE_HZ)
            for source in (container.decode(stream), (None,)):
                for frame in source:
                    for piece in resampler.resample(frame):
                        written += piece.samples
                        if written > max_samples:
                            return EXIT_TOO_LONG
                        output.write(piece.to_ndarray().tobytes())
    except (av.FFmpegError, ValueError, MemoryError):
        return EXIT_UNREADABLE
    return EXIT_OK if written else EXIT_NO_AUDIO


def main() -> int:
    """Decode stdin to stdout and return the exit status."""
    max_samples, cpu_s = int(sys.argv[1]), int(sys.argv[2])
    _limit(cpu_s)
    data = sys.stdin.buffer.read()
    with contextlib.suppress(BrokenPipeError):
        status = _decode(data, sys.stdout.buffer, max_samples)
        sys.stdout.buffer.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
