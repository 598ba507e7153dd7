"""What the callers say: recordings with their true words.

A recorded set is a folder of `NAME.wav` (mono, 16 bit) with the words in `NAME.txt`. The two sets
that come with the bench are spoken by flite on first use; a folder of one's own serves as well.
"""

import shutil
import wave
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import numpy as np
import numpy.typing as npt
import soxr

from bench.stt.sentences import ORDINARY_SENTENCES
from tests.fixtures.micro_whisper.material import ENGLISH, FLITE_VOICES
from tests.spoken import silence, speak

RATE_HZ: Final = 16_000
FRAME_S: Final = 0.02
FRAME_SAMPLES: Final = round(RATE_HZ * FRAME_S)
_LEVEL: Final = 0.1
"""Root mean square of the speech, of full scale: -20 dBFS."""
_AUDIBLE: Final = 250
"""|sample| of 16 bit above this counts as speech."""
_MARGIN_SAMPLES: Final = 320
"""Kept on both sides of it, 20 ms: words fade out."""
_NOISE_DB: Final = {"micro": (60.0, 35.0, 28.0), "ordinary": (50.0, 45.0, 40.0)}
"""How far the noise lies below the speech; the recordings of a set go through these."""
_TAKES: Final = 2
"""Recordings of each sentence by each voice of the micro Whisper's set."""
_MAX_RECORDING_S: Final = 30.0

Pcm16 = npt.NDArray[np.int16]


class BadRecording(ValueError):
    """A file of a recorded set cannot be used; the message says which and why."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One utterance: the first frame begins with speech, the last one ends with it."""

    name: str
    text: str
    """What is truly said."""
    frames: tuple[bytes, ...]
    """linear16 at 16 kHz, 20 ms each."""

    @property
    def duration_s(self) -> float:
        """Length, seconds."""
        return len(self.frames) * FRAME_S

    @property
    def pcm(self) -> bytes:
        """All frames, linear16 at 16 kHz."""
        return b"".join(self.frames)


def silent_frames(duration_s: float) -> tuple[bytes, ...]:
    """A quiet room's frames: digital silence occurs on no real line."""
    return _frames(silence(duration_s))


def read_recordings(folder: Path) -> list[Recording]:
    """The recorded set of a folder, by name.

    Raises:
        BadRecording: nothing there, a file that is no mono 16-bit WAV, or one without its words.
    """
    paths = sorted(folder.glob("*.wav"))
    if not paths:
        raise BadRecording(f"{folder}: no .wav in it")
    return [_read(path) for path in paths]


def spoken_recordings(kind: str, cache: Path) -> list[Recording]:
    """A set of our own, spoken by flite on first use.

    Args:
        kind: `micro`: what the micro Whisper knows, 13 sentences in 2 voices, 2 takes each;
            `ordinary`: 48 sentences about everyday things in the same 2 voices.
        cache: folder to keep it in.

    Raises:
        FileNotFoundError: flite is not installed.
    """
    folder = cache / f"recordings-{kind}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        making = Path(mkdtemp(dir=cache, prefix=folder.name))
        for index, (text, voice) in enumerate(_script(kind)):
            name = f"{index:03}-{voice}"
            noise_db = _NOISE_DB[kind][index % len(_NOISE_DB[kind])]
            _write(making / f"{name}.wav", _take(text, voice, noise_db, index))
            (making / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)
    return read_recordings(folder)


def _script(kind: str) -> list[tuple[str, str]]:
    if kind == "micro":
        return [(text, voice) for text in ENGLISH * _TAKES for voice in FLITE_VOICES]
    return [(text, voice) for text in ORDINARY_SENTENCES for voice in FLITE_VOICES]


def _take(text: str, voice: str, noise_db: float, seed: int) -> Pcm16:
    random = np.random.default_rng(seed)
    spoken = speak(text, voice, trim=False)
    audible = np.flatnonzero(np.abs(spoken.astype(np.int32)) > _AUDIBLE)
    begin, end = max(0, int(audible[0]) - _MARGIN_SAMPLES), int(audible[-1]) + _MARGIN_SAMPLES
    speech = spoken[begin:end].astype(np.float64) / 2**15
    speech *= _LEVEL / np.sqrt(np.mean(speech**2))
    speech += random.normal(0.0, _LEVEL * 10 ** (-noise_db / 20), len(speech))
    return np.rint(np.clip(speech, -1.0, 1.0) * (2**15 - 1)).astype(np.int16)


def _read(path: Path) -> Recording:
    words = path.with_suffix(".txt")
    if not words.is_file():
        raise BadRecording(f"{path}: its words are missing ({words.name})")
    try:
        with wave.open(str(path)) as file:
            rate_hz, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            content = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise BadRecording(f"{path}: {error}") from error
    if (channels, width) != (1, 2):
        raise BadRecording(f"{path}: {channels} channels of {8 * width} bits; wanted mono, 16 bits")
    pcm = np.frombuffer(content, "<i2")
    if rate_hz != RATE_HZ:
        pcm = soxr.resample(pcm, rate_hz, RATE_HZ)
    if not FRAME_SAMPLES <= len(pcm) <= _MAX_RECORDING_S * RATE_HZ:
        raise BadRecording(f"{path}: {len(pcm) / RATE_HZ:.2f} s; wanted up to {_MAX_RECORDING_S} s")
    return Recording(path.stem, words.read_text(encoding="utf-8").strip(), _frames(pcm))


def _write(path: Path, pcm: Pcm16) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm.astype("<i2").tobytes())


def _frames(pcm: Pcm16) -> tuple[bytes, ...]:
    padded = np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).astype("<i2")
    return tuple(frame.tobytes() for frame in padded.reshape(-1, FRAME_SAMPLES))
