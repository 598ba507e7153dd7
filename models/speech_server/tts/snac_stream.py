"""Frames of codes in, audio out: what a streamed decode says equals what a full decode would.

SNAC's decoder looks 2.32 frames to each side, so a frame decoded with three of context on each side
is exact. Waiting for three frames more would delay the first sound: the first frames that are
audible are decoded with less to come, which costs accuracy at their end; from there on all is
exact. Nothing is dropped at either end. Slices stay short until so much is handed out ahead of
play-out that a longer one can be waited for. What all this costs is measured in `bench/tts`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Codes, Frame, codes_of
from speech_server.tts.snac_opening import Opening

CONTEXT_FRAMES: Final = 3
"""Frames on each side with which a frame is exact: the decoder's layers reach 4,754 samples, 2.32
frames, to each side, whatever their weights. Source: kernels and strides of snac 1.2.1."""
FADE_SAMPLES: Final = 240
"""Cross-fade from a frame decoded with one frame to come to the exact ones after it: 10 ms."""

_FADED_LOOK_AHEAD: Final = 1
"""Look-ahead up to which the seam behind a frame needs the fade."""
_LONGEST_LEAD_FRAMES: Final = 12
"""Silence before the first sound after which no sound is waited for any more: 1 s."""
_MAX_OPENING_FRAMES: Final = 12
_SLACK_FRAMES: Final = 0.25
"""Part of a frame by which audio is early, 21 ms: the fade and the steps of `SpeechEdges` that are
held back behind it. The time to decode is little beside them."""
_NOTHING: Final = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Window:
    """Frames to decode together."""

    codes: Codes
    """int64, (frames, 7), at least one."""
    left: int = 0
    """Frames of context at the start, whose audio is not wanted."""
    right: int = 0
    """Frames of context at the end, whose audio is not wanted."""

    @property
    def samples(self) -> int:
        """Samples of the audio wanted."""
        return (len(self.codes) - self.left - self.right) * FRAME_SAMPLES


Decode = Callable[[Window], PcmFloat]
"""The audio of a window's middle: float32, (`samples`,), 24 kHz, in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon and in what slices a segment is decoded.

    Raises:
        ValueError: a number is out of its range.
    """

    opening: tuple[int, ...] = (1, 1, 1, 1, 1, 2, 2, 2)
    """Frames to come (1 or 2) that each of the first frames heard waits for. They are decoded one
    by one; empty: every frame is exact, and the first is heard after four."""
    speed: float = 1.3
    """Frames that come in the time that a frame lasts, at the least; at least 1. After the opening
    slices grow from one frame on, as much as this allows without a gap. A model that is faster
    leaves none either; its slices could be longer."""
    longest: int = 6
    """Longest slice, frames."""

    def __post_init__(self) -> None:
        if not all(0 < look_ahead < CONTEXT_FRAMES for look_ahead in self.opening):
            raise ValueError(f"opening: look-ahead of 1 to {CONTEXT_FRAMES - 1} frames")
        if len(self.opening) > _MAX_OPENING_FRAMES:
            raise ValueError(f"opening: {_MAX_OPENING_FRAMES} frames at most")
        if not self.speed >= 1 or self.longest < 1:
            raise ValueError("speed and longest: at least 1")

    @classmethod
    def for_speed(cls, speed: float, longest: int = 6) -> "Pace":
        """The pace that starts as soon as may be and leaves no gap.

        When frame j of the segment is due, j x speed frames more are made than at the start: it can
        wait for j x (speed - 1) frames more than the first one.

        Args:
            speed: frames made in the time that a frame lasts; below 1 there are gaps in any case.
            longest: longest slice, frames.
        """
        for first in range(1, CONTEXT_FRAMES):
            ahead = [
                int(min(CONTEXT_FRAMES, max(first, first + (j - _SLACK_FRAMES) * speed - j)))
                for j in range(_MAX_OPENING_FRAMES + 1)
            ]
            if ahead[-1] >= CONTEXT_FRAMES:
                opening = tuple(frames for frames in ahead if frames < CONTEXT_FRAMES)
                return cls(opening, speed, longest)
        return cls((), max(1.0, speed), longest)


class SnacSlices:
    """Which window of a segment to decode next, and what of its audio to hand out.

    Ask for `next_window`, decode it, give its audio to `take`; then ask again.

    Args:
        pace: how soon, and how much at once.
    """

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._opening = Opening(self._pace.speed)
        self._frames: list[Frame] = []
        self._kept_from = 0
        """Number of the first frame in `_frames`, counted from the segment's start."""
        self._next = 0
        """Number of the first frame not decoded yet."""
        self._ended = False
        self._ahead = 0.0
        """Frames of audio that are not played yet when a slice is handed out, at the least."""
        self._asked: Window | None = None
        self._held = _NOTHING
        """End of a frame that its better version, still to come, is blended with."""
        self._short = _NOTHING
        """The first sound, when too short to start with; it goes with the next frame."""

    @property
    def _waiting(self) -> int:
        """Frames that have come and are not decoded yet."""
        return self._kept_from + len(self._frames) - self._next

    @property
    def _opens(self) -> bool:
        return self._opening.heard < len(self._pace.opening) and self._next < _LONGEST_LEAD_FRAMES

    def push(self, frames: Sequence[Frame]) -> None:
        """Take frames, each code 0..4095."""
        self._frames.extend(frames)

    def end(self) -> None:
        """Say that no frame will come any more."""
        self._ended = True

    def next_window(self) -> Window | None:
        """The window to decode now; None while there are too few frames.

        Raises:
            RuntimeError: the audio of the window before was not taken.
        """
        if self._asked is not None:
            raise RuntimeError("the audio of the last window has not been taken")
        count = self._count()
        if not count:
            return None
        # The frame that faded out is decoded again, so that there is something to blend it with.
        first = self._next - bool(self._held.size)
        left = min(CONTEXT_FRAMES, first)
        end = self._next + count
        right = min(CONTEXT_FRAMES, self._waiting - count)
        start = first - left - self._kept_from
        codes = codes_of(self._frames[start : end + right - self._kept_from])
        self._asked = Window(codes, left, right)
        return self._asked

    def take(self, pcm: PcmFloat) -> PcmFloat:
        """Take the audio of the window that was asked for.

        Args:
            pcm: float32, (`samples` of the window,).

        Returns:
            float32, (samples,): what comes next of the segment; empty where more has to come first.

        Raises:
            EngineFailed: it is not as long as the window.
        """
        window, self._asked = self._asked, None
        if window is None or pcm.shape != (window.samples,):
            raise EngineFailed("SNAC: the decoder returned another length than was asked for")
        count = len(pcm) // FRAME_SAMPLES - bool(self._held.size)
        fresh = pcm[-count * FRAME_SAMPLES :]
        if self._held.size:
            seam = pcm[FRAME_SAMPLES - FADE_SAMPLES : FRAME_SAMPLES]
            rise = (np.arange(FADE_SAMPLES, dtype=np.float32) + 0.5) / np.float32(FADE_SAMPLES)
            pcm = np.concatenate((self._held + (seam - self._held) * rise, fresh))
            self._held = _NOTHING
        else:
            pcm = fresh
        too_short = False
        if self._opens:
            too_short = self._opening.take(fresh)
        else:
            self._ahead = max(0.0, self._ahead - count / self._pace.speed) + count
        self._next += count
        to_the_end = self._ended and window.right == self._waiting
        if not to_the_end and window.right <= _FADED_LOOK_AHEAD:
            pcm, self._held = pcm[:-FADE_SAMPLES], pcm[-FADE_SAMPLES:]
        self._forget()
        pcm, self._short = np.concatenate((self._short, pcm)), _NOTHING
        if too_short and not to_the_end:
            pcm, self._short = _NOTHING, pcm
        return pcm

    def _count(self) -> int:
        """Frames to decode now."""
        waiting, longest = self._waiting, self._pace.longest
        if self._ended:
            return min(waiting, longest)
        exact = min(waiting - CONTEXT_FRAMES, longest)
        if self._opens:
            if exact > 0:
                return exact
            return int(waiting > self._pace.opening[self._opening.heard])
        # While a slice gathers, what is ahead is played.
        worth = max(1, min(longest, (self._ahead - _SLACK_FRAMES) * self._pace.speed))
        return exact if exact >= int(worth) else 0

    def _forget(self) -> None:
        """Let go of frames that are no context any more."""
        # One more than the context: a held frame is decoded again with its own context.
        keep_from = max(self._kept_from, self._next - CONTEXT_FRAMES - 1)
        del self._frames[: keep_from - self._kept_from]
        self._kept_from = keep_from


class SnacStream:
    """Decodes one segment as its frames come.

    Args:
        decode: the model; called in this thread.
        pace: how soon, and how much at once.
    """

    def __init__(self, decode: Decode, pace: Pace | None = None) -> None:
        self._decode = decode
        self._pace = pace
        self._slices = SnacSlices(pace)

    def push(self, frames: Sequence[Frame]) -> list[PcmFloat]:
        """Take frames.

        Returns:
            float32, (samples,), 24 kHz: what can be heard now; often nothing.

        Raises:
            EngineFailed: the model failed.
        """
        self._slices.push(frames)
        return self._drain()

    def flush(self) -> list[PcmFloat]:
        """End the segment, return the rest of it and begin afresh.

        Raises:
            EngineFailed: the model failed.
        """
        self._slices.end()
        rest = self._drain()
        self._slices = SnacSlices(self._pace)
        return rest

    def _drain(self) -> list[PcmFloat]:
        pieces = []
        while (window := self._slices.next_window()) is not None:
            pieces.append(self._slices.take(self._decode(window)))
        return [piece for piece in pieces if len(piece)]
