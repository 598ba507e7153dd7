"""What the Orpheus engine remembers: how each voice speaks, and what a reply has said so far."""

from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Frame, token_ids
from speech_server.tts.orpheus_prompt import Prompt, behind, turn
from speech_server.tts.speech_edges import SilenceLevel
from speech_server.tts.word_estimate import Pace

MAX_LEAD_FRAMES: Final = 12
"""Longest silence that a segment is begun with: 1 s; published voices open with up to 0.7 s."""
MAX_TURN_TOKENS: Final = 2_048
"""Longest speech before a segment that the model is given, with its text: about 20 s."""


class VoiceMemory:
    """What is learnt of a voice from what it has said."""

    def __init__(self) -> None:
        self.pace = Pace()
        self.silence = SilenceLevel()
        self.lead: tuple[Frame, ...] = ()
        """The silent frames that it opens a segment with; empty until they are known."""

    def learn_lead(self, frames: Sequence[Frame], silent_samples: int) -> None:
        """Take the beginning of a segment that the voice began by itself.

        The first such beginning is kept: one that was begun with it would be longer by what the
        model adds to it, and so on.

        Args:
            frames: the segment.
            silent_samples: its silence before the first sound.
        """
        if not self.lead:
            self.lead = tuple(frames[: min(silent_samples // FRAME_SAMPLES, MAX_LEAD_FRAMES)])


class ReplyMemory:
    """What each reply has said so far; forgotten with the reply.

    All segments of a reply are kept, in order, so that what stands before the next one is what the
    model has seen and cached already: it costs no more than its own text.
    """

    def __init__(self) -> None:
        self._turns: WeakKeyDictionary[object, tuple[int, ...]] = WeakKeyDictionary()

    def prompt_behind(self, reply: object | None, prompt: Prompt) -> Prompt:
        """The prompt behind what the reply has said."""
        turns = self._turns.get(reply, ()) if reply is not None else ()
        return behind(turns, prompt)

    def add(self, reply: object | None, prompt: Prompt, frames: Sequence[Frame]) -> None:
        """Take a segment that was spoken to its end.

        Args:
            reply: the reply that it is of.
            prompt: its own prompt, with nothing before it.
            frames: its speech.
        """
        if reply is None:
            return
        latest = turn(prompt, [id_ for frame in frames for id_ in token_ids(frame)])
        turns = (*self._turns.get(reply, ()), *latest)
        if len(turns) > MAX_TURN_TOKENS:
            turns = latest if len(latest) <= MAX_TURN_TOKENS else ()
        self._turns[reply] = turns
