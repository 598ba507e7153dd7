"""Moonshine tiny-en: the built-in engine. English, CPU, model inside the wheel, no word times."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from moonshine_voice import ModelArch, Transcriber, get_model_path

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm, SttEngineInfo, Transcript, Utterance
from speech_server.stt.loops import without_loops
from speech_server.stt.quiet_cuts import cut_where_quiet

MODEL: Final = "moonshine-tiny-en"

_OPTIONS: Final = {
    # Its own voice activity detector cuts a quiet lead-in off as a line of its own, which the
    # model then reads as "?" or "You". Our stream has found the speech already.
    "vad_threshold": "0",
}
_MAX_PIECE_S: Final = 12.0
"""Longer audio is cut: measured on 30 s of speech, the model repeats a sentence from 25 s on."""
_CUT_SEARCH_S: Final = 5.0
"""A cut is made at the quietest place of this much audio before the limit, seconds."""
_QUIET_TAIL_SAMPLES: Final = round(0.2 * SAMPLE_RATE_HZ)
"""Digital silence put behind the audio. Measured on 96 sentences that end 60 ms after their last
sound: 5.8 % of the words wrong without, 4.9 % with 0.2 s, 4.6 % with 0.4 s."""
_CIRCLES: Final = 8
"""Rounds of a phrase that the model goes in circles with; people say the same thing thrice."""
_SECOND_LOOK_SAMPLES: Final = round(0.01 * SAMPLE_RATE_HZ)
"""Left out at the beginning when audio is read again: it lies before the speech, and the model,
which one sentence in 240 of a stuttering line sends in circles, then takes another way."""
_SILENT_PEAK: Final = 1e-3
"""Audio that never exceeds this (-60 dBFS) holds no speech; the model would answer "You"."""


class MoonshineEngine:
    """Runs Moonshine tiny-en from the `moonshine-voice` wheel, one utterance at a time."""

    def __init__(self) -> None:
        self._transcriber: Transcriber | None = None

    @property
    def info(self) -> SttEngineInfo:
        """What the engine can do."""
        return SttEngineInfo(name="moonshine", model=MODEL)

    def load(self) -> None:
        """Load the model and run it once."""
        path = str(get_model_path("tiny-en"))
        self._transcriber = Transcriber(path, model_arch=ModelArch.TINY, options=_OPTIONS)
        noise = np.random.default_rng(0).normal(0.0, 0.05, SAMPLE_RATE_HZ)
        self._read(noise.astype(np.float32))

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]:
        """Transcribe each utterance; see `SttEngine.transcribe`."""
        return [self._transcribe_one(utterance) for utterance in batch]

    def close(self) -> None:
        """Free the model."""
        if self._transcriber is not None:
            self._transcriber.close()
            self._transcriber = None

    def _transcribe_one(self, utterance: Utterance) -> Transcript | Exception:
        if not np.isfinite(utterance.pcm).all():
            return ValueError("audio must be finite: it holds NaN or infinity")
        try:
            pieces = cut_where_quiet(utterance.pcm, _MAX_PIECE_S, _CUT_SEARCH_S)
            texts = [self._read(piece) for piece in pieces]
        except Exception as error:  # handed back: the batcher reports it for this one alone
            return error
        return Transcript(text=" ".join(text for text in texts if text), language="en")

    def _read(self, pcm: Pcm) -> str:
        if self._transcriber is None:
            raise RuntimeError("the engine is not loaded")
        if not pcm.size or float(np.abs(pcm).max()) < _SILENT_PEAK:
            return ""
        text = self._ask(self._transcriber, pcm)
        if without_loops(text, _CIRCLES) == text:
            return text
        again = self._ask(self._transcriber, pcm[_SECOND_LOOK_SAMPLES:])
        return without_loops(again, _CIRCLES)

    @staticmethod
    def _ask(transcriber: Transcriber, pcm: Pcm) -> str:
        audio = np.pad(pcm, (0, _QUIET_TAIL_SAMPLES)).tolist()
        heard = transcriber.transcribe_without_streaming(audio, SAMPLE_RATE_HZ)
        return " ".join(line.text.strip() for line in heard.lines if line.text.strip())
