"""Raw bytes of one stream, in whatever pieces they come, to 16 kHz float samples."""

from speech_server.audio.pcm import PcmFloat, int16_to_float, linear16_to_int16, mulaw_to_int16
from speech_server.audio.resample import StreamResampler
from speech_server.stt.engine import SAMPLE_RATE_HZ
from speech_server.stt.listen_query import Encoding


class IncomingAudio:
    """Decodes and resamples one stream; a sample cut in two by a message border is kept whole.

    Args:
        encoding: format of the bytes.
        sample_rate_hz: their rate.
    """

    def __init__(self, encoding: Encoding, sample_rate_hz: int) -> None:
        self._encoding = encoding
        self._resampler = StreamResampler(sample_rate_hz, SAMPLE_RATE_HZ)
        self._odd = b""

    def push(self, data: bytes) -> PcmFloat:
        """Take the next bytes; any number.

        Returns:
            float32, (samples,), 16 kHz; may be empty.
        """
        if self._encoding == "mulaw":
            return self._resampler.push(int16_to_float(mulaw_to_int16(data)))
        whole = self._odd + data if self._odd else data
        even = len(whole) & ~1
        self._odd = whole[even:]
        return self._resampler.push(int16_to_float(linear16_to_int16(whole[:even])))

    def flush(self) -> PcmFloat:
        """What the resampler still holds; half a sample left over is dropped.

        Returns:
            float32, (samples,), 16 kHz.
        """
        self._odd = b""
        return self._resampler.flush()
