"""Recognises recordings that are known beforehand, and how far one has been spoken, by their sound.

A spectrum every 20 ms is compared with those of all recordings. The recording that begins the audio
best is followed piece by piece, so that pauses may have been shortened and a network's buffer may
have stretched a little; several that begin alike are followed, and whichever explains most is it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.call.spectra import BANDS, HOP, HOP_S, Spectra, spectral_shapes
from speech_server.stt.engine import Pcm

_LEAD: Final = 10
"""Silence put before each recording, spectra: the audio may begin with something else."""
_STEP: Final = 5
"""Spectra passed over where nothing is known of the audio."""
_PROBE: Final = 25
"""The first spectra, compared with every recording: 0.5 s."""
_FOLLOWED: Final = 10
"""Recordings that are followed: the most that begin with the same words in one voice, and some."""
_PIECE: Final = 20
"""Spectra followed at once: 0.4 s."""
_SLIP: Final = 2
"""By how many spectra a piece may be early or late against the one before."""
_BEGUN: Final = 5
"""Fewer spectra of a piece (0.1 s) do not tell whether it has begun."""
_ALIKE: Final = 0.45
"""Mean similarity from which a piece may be what it is compared with."""
_SURE: Final = 0.75
"""The same for all that was followed. Measured over the recorded set through Opus: 0.97 in the
middle for what is known; 0.49, and at most 0.74, for the best match of what is not."""

_ONSET: Final = 12
"""A match that begins so early in a recording (0.24 s) begins with it: some voices start softly."""
_FROM_WITHIN: Final = 0.8
"""What a match counts that begins in the middle of a recording: speech mostly begins at its
beginning, and a short word sounds like many a syllable."""
_SHORTEST_WITHIN: Final = 15
"""Shortest such match, spectra (0.3 s)."""

_KNOWN: Final = 0.6
"""Share of the audio that must be known: what is not shares its syllables with what is."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A stretch of one recording that was recognised."""

    recording: int
    """Its index."""
    start_s: float
    """Where in the recording the audio begins, seconds."""
    end_s: float
    """Where in the recording the last of its sound that was heard is, seconds."""


@dataclass(frozen=True, slots=True)
class _Path:
    """A recording followed through the audio."""

    recording: int
    first: int
    """Where it begins in the recording, spectra."""
    last: int
    """One past the last spectrum of the recording that was heard."""
    until: int
    """One past the last spectrum of the audio that is explained."""
    explained: float
    """Sum of similarities."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A few words' worth of a recording, spectra."""

    begin: int
    end: int
    pause: int
    """Length of the pause before it; where audio is gathered for a model, it may be shorter."""


class KnownSpeech:
    """Recordings to be recognised.

    Args:
        recordings: float32, (samples,), 16 kHz each, at about -20 dBFS; none silent.
        pauses_s: for each, where nothing is said for long: begin and end, seconds.
    """

    def __init__(
        self, recordings: Sequence[Pcm], pauses_s: Sequence[Sequence[tuple[float, float]]]
    ) -> None:
        lead = np.zeros(_LEAD * HOP, np.float32)
        shapes = [spectral_shapes(np.concatenate((lead, recording))) for recording in recordings]
        spoken = np.concatenate([one[np.any(one, axis=1)] for one in shapes])
        self._mean = spoken.mean(axis=0)
        self._spread = spoken.std(axis=0)
        self._known = [self._normal(one) for one in shapes]
        self._pieces = [
            _pieces(len(one), pauses) for one, pauses in zip(shapes, pauses_s, strict=True)
        ]
        lengths = [len(one) for one in shapes]
        self._starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        padding = np.zeros((_PROBE, BANDS), np.float32)
        every = np.concatenate([*self._known, padding])
        self._every = np.ascontiguousarray(every.T)
        self._voiced = np.concatenate(([0], np.cumsum(np.any(every, axis=1))))

    def recognise(self, pcm: Pcm) -> list[Heard]:
        """What of the recordings is in the audio, in order; nothing where most of it is unknown.

        Args:
            pcm: float32, (samples,), 16 kHz; speech at about the recordings' level.
        """
        spectra = self._normal(spectral_shapes(pcm))
        voiced = np.flatnonzero(np.any(spectra, axis=1))
        found: list[Heard] = []
        at, explained = 0, 0.0
        while len(left := voiced[voiced >= at]) >= _BEGUN:
            at = int(left[0])
            path = self._best(spectra, at)
            if path is None:
                at += _STEP
                continue
            begin, end = max(0, path.first - _LEAD), max(0, path.last - _LEAD)
            found.append(Heard(path.recording, begin * HOP_S, end * HOP_S))
            at = path.until
            explained += path.explained
        return found if explained >= _KNOWN * len(voiced) else []

    def _normal(self, shapes: Spectra) -> Spectra:
        """Shapes as they differ from the mean one, of length 1."""
        voiced = np.any(shapes, axis=1, keepdims=True)
        apart = np.where(voiced, (shapes - self._mean) / self._spread, 0.0)
        length = np.linalg.norm(apart, axis=1, keepdims=True)
        normal: Spectra = (apart / np.maximum(length, 1e-6)).astype(np.float32)
        return normal

    def _best(self, spectra: Spectra, at: int) -> _Path | None:
        """The recording that explains most of the audio from a place on."""
        paths = [self._follow(spectra, at, *one) for one in self._candidates(spectra, at)]
        return max(
            (path for path in paths if path is not None),
            key=lambda path: path.explained * (_FROM_WITHIN if path.first else 1.0),
            default=None,
        )

    def _candidates(self, spectra: Spectra, at: int) -> Iterator[tuple[int, int]]:
        """Recordings that sound like the audio from a place on, and where in them that is."""
        probe = spectra[at : at + _PROBE]
        alike = probe @ self._every
        places = alike.shape[1] - _PROBE
        total = sum(alike[index, index : index + places] for index in range(len(probe)))
        voiced = self._voiced[len(probe) : len(probe) + places] - self._voiced[:places]
        score = total / np.maximum(voiced, np.any(probe, axis=1).sum())
        best = np.maximum.reduceat(score, self._starts)
        ends = np.append(self._starts[1:], places)
        for recording in np.argsort(best)[::-1][:_FOLLOWED]:
            if best[recording] < _ALIKE:
                return
            start, end = self._starts[recording], ends[recording]
            yield int(recording), int(np.argmax(score[start:end]))

    def _follow(self, spectra: Spectra, at: int, recording: int, first: int) -> _Path | None:
        """Follow one recording from a place in it, for as long as the audio sounds like it."""
        alike = spectra @ self._known[recording].T
        voiced = np.any(spectra, axis=1)
        shift, last, until, explained = at - first, first, at, 0.0
        missed, rest = False, 0
        for piece in self._pieces[recording]:
            begin = max(piece.begin, first)
            if piece.end - begin < _BEGUN:
                continue
            shortened = piece.pause if begin > first else 0
            shifts = np.arange(shift - shortened - _SLIP, shift + _SLIP + 1)
            place = _place(alike[:, begin : piece.end], begin, shifts, until)
            ends_in_it = piece.end + shift >= len(spectra)
            if place is not None and place.alike >= _ALIKE:
                shift, until, missed = place.shift, place.until, False
                last = until - shift
                explained += place.sum
            elif ends_in_it and until > at and not piece.pause:
                # the little that is there tells nothing, but words go on without a pause
                rest = min(int(voiced[until:].sum()), piece.end + shift - until)
                break
            elif place is None or missed:
                break
            else:
                missed = True
        from_within = first > _LEAD + _ONSET
        if until - at < (_SHORTEST_WITHIN if from_within else _BEGUN):
            return None
        if explained < _SURE * int(voiced[at:until].sum()):
            return None
        return _Path(recording, first if from_within else 0, last + rest, until + rest, explained)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the audio a piece of a recording is."""

    shift: int
    """Spectra by which it is later in the audio than in the recording."""
    until: int
    """One past its last spectrum that is in the audio."""
    sum: float
    """Of the similarities."""
    alike: float
    """Their mean."""


def _place(
    alike: npt.NDArray[np.float32], begin: int, shifts: npt.NDArray[np.int64], since: int
) -> _Place | None:
    """The shift at which a piece sounds most like the audio; None: too little of it is there.

    Args:
        alike: float32, (spectra of the audio, spectra of the piece), their similarities.
        begin: where the piece begins in its recording, spectra.
        shifts: int64, (shifts,), to try.
        since: what is before has been explained.
    """
    spectra, length = alike.shape
    columns = np.arange(length)
    rows = begin + shifts[:, None] + columns
    inside = (rows >= since) & (rows < spectra)
    similar = np.where(inside, alike[np.clip(rows, 0, spectra - 1), columns], 0.0)
    best = int(np.argmax(similar.sum(axis=1)))
    # silence is like nothing: pauses between two words are neither for nor against it
    told = inside[best] & (similar[best] != 0)
    if told.sum() < _BEGUN:
        return None
    until = int(rows[best][told][-1]) + 1
    total = float(similar[best].sum())
    return _Place(int(shifts[best]), until, total, total / int(told.sum()))


def _pieces(length: int, pauses: Sequence[tuple[float, float]]) -> list[_Piece]:
    """A recording cut at its pauses and then into pieces of about equal length."""
    found: list[_Piece] = []
    begin, pause = 0, 0
    for start_s, end_s in (*pauses, (length * HOP_S, length * HOP_S)):
        end = min(length, _LEAD + int(np.ceil(start_s / HOP_S)))
        count = max(1, round((end - begin) / _PIECE))
        marks = np.linspace(begin, end, count + 1).astype(int).tolist()
        for index, (left, right) in enumerate(pairwise(marks)):
            found.append(_Piece(left, right, 0 if index else pause))
        begin = min(length, _LEAD + int(end_s / HOP_S))
        pause = begin - end
    return found
