"""Who may decide that a caller's turn is over, beside the framework: what a stream offers to it.

Used with `turn_detection="stt"`, where the framework takes the stream's word for it: the stream
hands every sample and every transcript on, and does what it is told.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

Pcm16 = npt.NDArray[np.int16]


class TurnLine(Protocol):
    """One caller's stream, as a `TurnTaker` commands it. Every call returns at once."""

    def end_turn(self, speech_end: int) -> None:
        """Ask for the final transcript; with it the turn is over.

        Args:
            speech_end: where the last speech stopped, samples.
        """
        ...

    def set_aside(self) -> None:
        """End what was said without a turn: its words are kept, and nobody is told of them."""
        ...

    def take_up(self) -> None:
        """Make the words set aside a turn after all; nothing where there are none."""
        ...

    def reopen(self) -> None:
        """Go on with what ended last, a turn or words set aside: they come before the next ones."""
        ...


class TurnTaker(Protocol):
    """Follows one stream. Positions are samples at 16 kHz from the first one heard."""

    def hear(self, pcm: Pcm16) -> None:
        """Take the next audio.

        Args:
            pcm: int16, (samples,), 16 kHz, mono; any length.
        """
        ...

    def read(self, text: str, end: int) -> None:
        """Take the words so far, read in a pause of the caller.

        Args:
            text: everything said in this turn.
            end: how far the audio goes that they were read from, samples.
        """
        ...

    def close(self) -> None:
        """The stream has ended; nothing may be asked of it any more."""
        ...


TurnTakerFactory = Callable[[TurnLine], TurnTaker]
"""Makes the taker of a new stream."""
