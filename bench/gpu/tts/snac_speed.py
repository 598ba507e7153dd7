"""How fast SNAC decodes slices of many callers at once, and so how many it keeps speaking."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bench.percentiles import Percentiles
from bench.tts.snac_work import FRAME_S, REFERENCE_FRAMES
from speech_server.tts.orpheus_codes import CODEBOOK_SIZE, SLOTS
from speech_server.tts.snac_decoder import SnacDecoder, load_snac
from speech_server.tts.snac_stream import CONTEXT_FRAMES, Window

_WARM_UP: Final = 3
"""Calls that do not count: the first of a shape captures its graph."""


@dataclass(frozen=True)
class Slice:
    """What one call hands out of each stream."""

    name: str
    left: int
    frames: int
    """Frames handed out."""
    right: int


SLICES: Final = (
    Slice("opening", CONTEXT_FRAMES, 1, 1),
    *(Slice("exact", CONTEXT_FRAMES, frames, CONTEXT_FRAMES) for frames in (1, 2, 4, 6)),
    # Decodes four, hands out the second: the others are its context.
    Slice("reference", 1, 1, REFERENCE_FRAMES - 2),
)


@dataclass(frozen=True)
class Speed:
    """Of one slice and one size of batch."""

    slice: str
    frames: int
    batch: int
    call_s: Percentiles
    """Time of one call: codes on the host in, audio on the host out."""
    streams: float
    """Streams in real time, if nothing else is decoded: audio handed out per second of calls."""


def measure_snac(
    folder: Path, device: str, batches: Sequence[int], repeats: int
) -> Iterator[Speed]:
    """Decode random codes.

    Args:
        folder: SNAC's files.
        device: "cpu" or "cuda".
        batches: how many streams' slices go into a call.
        repeats: calls that count, of every shape.

    Yields:
        One result for each slice and size.

    Raises:
        SnacUnavailable: it cannot be loaded.
    """
    snac = load_snac(folder, "cuda" if device == "cuda" else "cpu")
    random = np.random.default_rng(1)
    for piece in SLICES:
        length = piece.left + piece.frames + piece.right
        for batch in batches:
            codes = random.integers(0, CODEBOOK_SIZE, (batch, length, SLOTS))
            windows = [_window(piece, rows) for rows in codes]
            call_s = _time(snac, windows, repeats)
            streams = batch * piece.frames * FRAME_S / call_s.p50
            yield Speed(piece.name, piece.frames, batch, call_s, streams)


def _window(piece: Slice, codes: np.ndarray) -> Window:
    if piece.name == "reference":
        return Window(codes)  # it decodes all of it and takes its share afterwards
    return Window(codes, piece.left, piece.right)


def _time(snac: SnacDecoder, windows: list[Window], repeats: int) -> Percentiles:
    took_s = []
    for index in range(_WARM_UP + repeats):
        began_s = time.perf_counter()
        snac.decode_batch(windows)
        if index >= _WARM_UP:
            took_s.append(time.perf_counter() - began_s)
    found = Percentiles.of(took_s)
    assert found is not None
    return found
