"""The recorded set of turns: lines spoken by several voices, with the places of their pauses.

Rendered by the built-in voices on first use and kept as WAV files beside an index. The voices speak
a whole line at once and pauses are cut into it at word boundaries, so that what comes before a
pause does not sound like the end of a sentence.
"""

import hashlib
import json
import shutil
import wave
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bench.turns.render import RATE_HZ, Pause, room_noise, say_lines
from bench.turns.script import FILE, Kind, Line, Part, read_script

_RENDERED_BY: Final = ("recorded_set.py", "render.py", "script.py")
"""What the audio depends on besides the lines: a change renders the set again."""

Pcm16 = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False, slots=True)
class Utterance:
    """One line by one voice, with the noise of its line."""

    name: str
    part: Part
    kind: Kind
    voice: str
    text: str
    """The words, with punctuation."""
    words_before: tuple[int, ...]
    """Number of words before each pause."""
    pauses: tuple[Pause, ...]
    end_s: float
    """End of the last audible sample, seconds from the first sample of `pcm`."""
    noise_db: float
    """Level of the line's noise, dB below the speech."""
    pcm: Pcm16
    """int16, (samples,), mono, `RATE_HZ`; begins and ends within 20 ms of speech."""

    def silence(self, duration_s: float) -> Pcm16:
        """The line when nobody speaks: int16, (samples,), the noise of `pcm` going on."""
        return room_noise(round(duration_s * RATE_HZ), self.noise_db, seed=1)


def recorded_set(cache: Path) -> list[Utterance]:
    """The whole set, in the order of `utterances.yaml`.

    Args:
        cache: folder to keep it in; about 40 MB.

    Raises:
        EngineFailed: flite is not installed.
    """
    folder = cache / f"turns-{_fingerprint()}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        making = Path(mkdtemp(dir=cache, prefix="turns-making-"))
        try:
            _render(read_script(), making)
            making.replace(folder)
        except OSError:
            if not folder.is_dir():  # somebody else was faster
                raise
        finally:
            shutil.rmtree(making, ignore_errors=True)
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return [_utterance(entry, folder) for entry in index]


def _fingerprint() -> str:
    sources = [FILE, *(FILE.with_name(name) for name in _RENDERED_BY)]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


def _render(script: list[Line], folder: Path) -> None:
    index = []
    # In a process of its own: what the voices say next depends on what they said before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        said = process.submit(say_lines, script).result()
    for line, spoken in zip(script, said, strict=True):
        _write(folder / f"{line.name}.wav", spoken.pcm)
        index.append(
            {
                **{key: getattr(line, key) for key in ("name", "part", "kind", "voice", "text")},
                "words_before": [pause.after_word for pause in line.pauses],
                "pauses": [asdict(pause) for pause in spoken.pauses],
                "end_s": spoken.end_s,
                "noise_db": spoken.noise_db,
            }
        )
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def _utterance(entry: dict[str, Any], folder: Path) -> Utterance:
    with wave.open(str(folder / f"{entry['name']}.wav")) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
    pcm.setflags(write=False)
    pauses = tuple(Pause(**pause) for pause in entry.pop("pauses"))
    words_before = tuple(entry.pop("words_before"))
    return Utterance(**entry, words_before=words_before, pauses=pauses, pcm=pcm)


def _write(path: Path, pcm: Pcm16) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm.astype("<i2").tobytes())
