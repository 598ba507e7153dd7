"""Moonshine tiny-en: the built-in engine. English, CPU, model inside the wheel, no word times."""

from collections.abc import Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Final

import numpy as np

from speech_server.stt.beam_search import likeliest
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm, SttEngineInfo, Transcript, Utterance
from speech_server.stt.loops import without_loops
from speech_server.stt.moonshine_model import END, MoonshineModel
from speech_server.stt.quiet_cuts import cut_where_quiet

MODEL: Final = "moonshine-tiny-en"

_DISTRIBUTION: Final = "moonshine-voice"
_FOLDER: Final = "tiny-en"
"""The wheel carries the model; its files are used here, none of its library, which takes the best
token every time."""

BEAM_WIDTH: Final = 5
_BEAM_MARGIN: Final = 5.0
"""Attempts side by side, and nats below the best from which one is given up. Measured by
`python -m bench.reading` on 2,265 words: 11.9 % are wrong through Opus, 15.6 % with the best token
every time; 18.6 and 22.3 % by telephone (3 attempts: 12.6 and 19.2, 8: 11.5 and 17.3)."""
_TOKENS_PER_S: Final = 6.5
_FREE_TOKENS: Final = 8
"""Nobody says more; bounds what a text that goes in circles costs. Source of the rate: the limit
that Moonshine's authors decode with."""
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
    """Runs Moonshine tiny-en from the `moonshine-voice` wheel, one utterance at a time.

    Args:
        beam_width: attempts side by side; 1 takes the best token every time.
    """

    def __init__(self, beam_width: int = BEAM_WIDTH) -> None:
        self._beam_width = beam_width
        self._model: MoonshineModel | None = None

    @property
    def info(self) -> SttEngineInfo:
        """What the engine can do."""
        return SttEngineInfo(name="moonshine", model=MODEL)

    def load(self) -> None:
        """Load the model and run it once.

        Raises:
            FileNotFoundError: the installation lacks the model.
        """
        self._model = MoonshineModel(_model_folder())
        noise = np.random.default_rng(0).normal(0.0, 0.05, SAMPLE_RATE_HZ)
        self._read(noise.astype(np.float32))

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]:
        """Transcribe each utterance; see `SttEngine.transcribe`."""
        return [self._transcribe_one(utterance) for utterance in batch]

    def close(self) -> None:
        """Free the model."""
        self._model = None

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
        if not pcm.size or float(np.abs(pcm).max()) < _SILENT_PEAK:
            return ""
        text = self._ask(pcm)
        if without_loops(text, _CIRCLES) == text:
            return text
        return without_loops(self._ask(pcm[_SECOND_LOOK_SAMPLES:]), _CIRCLES)

    def _ask(self, pcm: Pcm) -> str:
        if self._model is None:
            raise RuntimeError("the engine is not loaded")
        limit = _FREE_TOKENS + round(_TOKENS_PER_S * pcm.size / SAMPLE_RATE_HZ)
        writer = self._model.write(np.pad(pcm, (0, _QUIET_TAIL_SAMPLES)), self._beam_width)
        text = likeliest(writer, END, self._beam_width, _BEAM_MARGIN, limit)
        return self._model.tokens.text(text.tokens)


def _model_folder() -> Path:
    for file in files(_DISTRIBUTION) or ():
        if file.parent.name == _FOLDER:
            return Path(str(file.locate())).parent
    raise FileNotFoundError(f"{_FOLDER} is missing: reinstall {_DISTRIBUTION}==0.1.0")
