"""The recorded set as it is written down: `utterances.yaml`, read and checked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FILE: Final = Path(__file__).with_name("utterances.yaml")

Part = Literal["tuned", "held_out"]
Kind = Literal[
    "complete",
    "question",
    "answer",
    "hesitation",
    "dictation",
    "sentences",
    "trailing",
    "backchannel",
    "interruption",
]
TURN_KINDS: Final = frozenset[Kind](
    ("complete", "question", "answer", "hesitation", "dictation", "sentences", "trailing")
)
"""Said when it is the caller's go; the other kinds are said while the agent speaks."""
VOICES_PER_LINE: Final = 2

_PAUSE: Final = re.compile(r"\[(\d+)\]")
_LONGEST_PAUSE_MS: Final = 900


@dataclass(frozen=True, slots=True)
class ScriptedPause:
    """A pause in a line."""

    after_word: int
    """Number of words before it, at least 1."""
    duration_s: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line by one voice."""

    name: str
    part: Part
    kind: Kind
    voice: str
    text: str
    """The words, with punctuation and without marks."""
    say: str
    """What the synthesiser is given."""
    pauses: tuple[ScriptedPause, ...]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str
    say: str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    voices: Annotated[list[str], Field(min_length=VOICES_PER_LINE)]
    lines: dict[Kind, list[str | _Told]]


_PARTS: Final = TypeAdapter(dict[Part, _Part])


def read_script(file: Path = FILE) -> list[Line]:
    """Every line by every voice that speaks it, in the file's order.

    Raises:
        ValueError: the file is not of this form, or a line's pause is not between two words.
    """
    parts = _PARTS.validate_python(yaml.safe_load(file.read_text(encoding="utf-8")))
    return [line for name, part in parts.items() for line in _lines(name, part)]


def _lines(name: Part, part: _Part) -> Iterator[Line]:
    number = 0
    for kind, entries in part.lines.items():
        for entry in entries:
            told = _Told(text=entry, say=entry) if isinstance(entry, str) else entry
            text, pauses = _without_marks(told.text)
            say, _ = _without_marks(told.say)
            for turn in range(VOICES_PER_LINE):
                # Neighbours share one voice, so that every pair of voices meets every kind.
                voice = part.voices[(number + turn) % len(part.voices)]
                label = f"{name}-{number:03}-{kind}-{voice}"
                yield Line(label, name, kind, voice, text, say, pauses)
            number += 1


def _without_marks(marked: str) -> tuple[str, tuple[ScriptedPause, ...]]:
    words: list[str] = []
    pauses: list[ScriptedPause] = []
    for piece in marked.split():
        if mark := _PAUSE.fullmatch(piece):
            duration_ms = int(mark[1])
            if not words or not 0 < duration_ms <= _LONGEST_PAUSE_MS:
                raise ValueError(
                    f"{marked!r}: a pause stands after a word and lasts 1 to {_LONGEST_PAUSE_MS} ms"
                )
            pauses.append(ScriptedPause(len(words), duration_ms / 1000))
        else:
            words.append(piece)
    if pauses and pauses[-1].after_word == len(words):
        raise ValueError(f"{marked!r}: a pause stands between two words, not at the end")
    return " ".join(words), tuple(pauses)
