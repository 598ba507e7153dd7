"""Audio files for tests, encoded in memory."""

import io
from typing import cast

import av
import numpy as np
import numpy.typing as npt


def encoded(
    pcm: npt.NDArray[np.int16], rate_hz: int, container: str = "wav", codec: str = "pcm_s16le"
) -> bytes:
    """Encode mono samples as a file.

    Args:
        pcm: int16, (samples,).
        rate_hz: their rate, and the file's.
        container: FFmpeg's name of a muxer.
        codec: FFmpeg's name of an audio encoder.
    """
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream = cast(av.AudioStream, output.add_stream(codec, rate=rate_hz, layout="mono"))
        resampler = av.AudioResampler(
            stream.codec_context.format,
            "mono",
            rate_hz,
            frame_size=stream.codec_context.frame_size or 4096,
        )
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = rate_hz
        for piece in (*resampler.resample(frame), *resampler.resample(None)):
            output.mux(stream.encode(piece))
        output.mux(stream.encode(None))
    return file.getvalue()
