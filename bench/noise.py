"""`python -m bench.noise`: what suppressing a telephone's noise does to the words.

No call is made: lines of the recorded set with noise behind them go through G.711 and Opus, then
through no suppression, WebRTC's all the time, and the agent's, which is WebRTC's on noisy lines.
The same noise alone shows when the voice activity model takes it for speech.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

import numpy as np
import typer
from livekit import rtc
from rich.table import Table

from bench.call.sayings import Saying, spread
from bench.cells import percent
from bench.console import wide_console
from bench.finished_turns import MostTurns, finished_turns
from bench.machine import as_result
from bench.offline_paths import (
    Noise,
    by_telephone,
    for_the_recogniser,
    length,
    microphone,
    utterance,
)
from bench.options import JsonFile
from bench.phone.narrowband import for_the_line
from bench.stt.word_errors import spelled, word_errors, words
from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.moonshine import MoonshineEngine
from speech_server.stt.vad import WINDOW_SAMPLES, SileroVoiceActivity
from voice_agent.caller.sound import RATE_HZ, Pcm16
from voice_agent.noise_suppression import BLOCK_S, NoiseSuppressor

WAYS: Final = ("never", "always", "on noisy lines")
_FRAME_SAMPLES: Final = round(RATE_HZ * BLOCK_S)
_AUDIBLE: Final = 250
"""Samples of speech above this count for its level, int16."""
_VOICES_BEHIND: Final = 6
_SPEECH: Final = 0.5
"""Probability from which a window counts as speech."""
_FORMULA_VOICES: Final = "en"
"""Names of espeak's voices begin so: not like a person's, and left out."""
_PACKAGES: Final = ("parley", "livekit", "moonshine-voice", "onnxruntime", "numpy")


class Engine(Protocol):
    """Reads words, as `SttEngine.transcribe`."""

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]: ...


@dataclass
class Score:
    """One noise, one way to suppress it."""

    noise: str
    below_db: int | None
    """Of the speech; None: a quiet room."""
    way: str
    words: int = 0
    wrong: int = 0
    windows: int = 0
    """Of 32 ms, in the noise alone."""
    taken_for_speech: int = 0


class Noises:
    """Makes the noise behind a saying, the same for every run.

    Args:
        sayings: who speaks in the background.
    """

    def __init__(self, sayings: Sequence[Saying]) -> None:
        self._voices = [saying.utterance.samples.astype(np.float64) for saying in sayings]

    def make(self, kind: str, samples: int, seed: int) -> Noise:
        """Noise of root mean square 1.

        Args:
            kind: `white`; `pink`, a fan; `car`, mostly below 200 Hz; `voices`.
            samples: how much, at the microphone's rate.
            seed: for another piece of it.
        """
        random = np.random.default_rng(seed)
        if kind == "voices":
            noise = sum(self._voice(random, samples) for _ in range(_VOICES_BEHIND))
        else:
            spectrum = np.fft.rfft(random.normal(0, 1, samples))
            hertz = np.maximum(np.fft.rfftfreq(samples, 1 / RATE_HZ), 50)
            falls = {"white": 0.0, "pink": 0.5, "car": 1.2}[kind]
            noise = np.fft.irfft(spectrum * (hertz / 50) ** -falls, samples)
        level = np.sqrt(np.mean(np.square(noise)))
        return np.asarray(noise / level, np.float64)

    def _voice(self, random: np.random.Generator, samples: int) -> Noise:
        said = self._voices[random.integers(len(self._voices))]
        rolled: Noise = np.roll(np.resize(said, samples), random.integers(samples))
        return rolled


LINES: Final[tuple[tuple[str, int | None], ...]] = (
    ("quiet room", None), ("white", 28), ("white", 22), ("pink", 28), ("pink", 20),
    ("car", 20), ("car", 12), ("car", 5), ("voices", 15),
)  # fmt: skip


def noise(most: MostTurns = None, json_file: JsonFile = None) -> None:
    """Count the words that are misheard by telephone in noise, suppressed and not."""
    like_people = [
        turn for turn in finished_turns(json_file) if not turn.voice.startswith(_FORMULA_VOICES)
    ]
    chosen = [for_the_line(turn) for turn in spread(like_people, most)]
    engine = MoonshineEngine()
    engine.load()
    noises = Noises(like_people)
    scores = [
        score for kind, below in LINES for score in measure(engine, noises, chosen, kind, below)
    ]
    wide_console().print(_table(scores))
    if json_file is not None:
        record = as_result(
            {}, _PACKAGES, conditions={"turns": len(chosen)}, scores=[asdict(s) for s in scores]
        )
        json_file.write_text(f"{json.dumps(record, indent=2)}\n", encoding="utf-8")


def measure(
    engine: Engine, noises: Noises, sayings: Sequence[Saying], kind: str, below: int | None
) -> list[Score]:
    """Every way on the same noisy sayings, and on as much of the noise alone."""
    scores = [Score(kind, below, way) for way in WAYS]
    for number, saying in enumerate(sayings):
        behind = None if below is None else _behind(noises, saying, kind, below, number)
        sent = by_telephone(microphone(saying, behind))
        alone = None if behind is None else by_telephone(np.rint(behind).astype(np.int16))
        for score in scores:
            _read(engine, saying, _suppressed(sent, score.way), score)
            if alone is not None:
                _listen(_suppressed(alone, score.way), score)
    return scores


def _behind(noises: Noises, saying: Saying, kind: str, below_db: int, seed: int) -> Noise:
    said = saying.utterance.samples.astype(np.float64)
    level = float(np.sqrt(np.mean(np.square(said[np.abs(said) > _AUDIBLE]))))
    return noises.make(kind, length(saying), seed) * (level * 10 ** (-below_db / 20))


def _read(engine: Engine, saying: Saying, pcm: Pcm16, score: Score) -> None:
    (found,) = engine.transcribe([Utterance(utterance(for_the_recogniser(pcm)), "en")])
    if isinstance(found, Exception):
        raise found
    truth = words(spelled(saying.utterance.text))
    score.words += len(truth)
    score.wrong += word_errors(truth, words(spelled(found.text)))


def _listen(pcm: Pcm16, score: Score) -> None:
    sound, activity = for_the_recogniser(pcm), SileroVoiceActivity()
    for start in range(0, len(sound) - WINDOW_SAMPLES + 1, WINDOW_SAMPLES):
        score.windows += 1
        window = sound[start : start + WINDOW_SAMPLES]
        score.taken_for_speech += activity.probability(window) >= _SPEECH


def _suppressed(pcm: Pcm16, way: str) -> Pcm16:
    if way == "never":
        return pcm
    process = _always() if way == "always" else NoiseSuppressor()._process
    whole = len(pcm) - len(pcm) % _FRAME_SAMPLES
    frames = [
        process(rtc.AudioFrame(part.tobytes(), RATE_HZ, 1, len(part)))
        for part in np.split(pcm[:whole], whole // _FRAME_SAMPLES)
    ]
    return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in frames])


def _always() -> Callable[[rtc.AudioFrame], rtc.AudioFrame]:
    module = rtc.AudioProcessingModule(noise_suppression=True, high_pass_filter=True)

    def process(frame: rtc.AudioFrame) -> rtc.AudioFrame:
        module.process_stream(frame)
        return frame

    return process


def _table(scores: Sequence[Score]) -> Table:
    table = Table(title="Words misheard by telephone in noise")
    for name in ("noise", "below the speech, dB", "suppressed", "words", "wrong, %",
                 "of it alone taken for speech, %"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("noise", "suppressed") else "right")
    for one in scores:
        table.add_row(
            one.noise, "" if one.below_db is None else str(one.below_db), one.way, str(one.words),
            percent(one.wrong / one.words),
            percent(one.taken_for_speech / one.windows if one.windows else None),
        )  # fmt: skip
    return table


if __name__ == "__main__":
    typer.run(noise)
