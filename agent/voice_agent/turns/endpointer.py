"""When to say that a caller's turn is over: asks the scorer again and again while they are silent.

Pure: no clock, no I/O. Time is the audio's own, counted in samples, so that a turn can be replayed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from voice_agent.turns.pauses import CallerPauses
from voice_agent.turns.scorer import EndScorer, Evidence
from voice_agent.turns.speech_activity import RATE_HZ, Heard
from voice_agent.turns.tone import Tone, ToneOfVoice
from voice_agent.turns.words import ending

_SETTLED_SAMPLES: Final = round(0.05 * RATE_HZ)
"""Words count for the speech before them even if that seems to stop this much later, samples: the
recogniser's ear and ours need not agree to the sample."""


@dataclass(frozen=True, slots=True)
class EndpointingSettings:
    """How sure one must be, and how long to wait at most."""

    threshold: float
    """Score in (0, 1) from which the turn is over."""
    hard_limit_s: float
    """Silence after which it is over whatever the score, seconds."""
    whole_limit_s: float = math.inf
    """Silence after which it is over whatever the score where its words may be all, seconds."""
    first_look_s: float = 0.06
    """Silence before which it is never over, seconds."""
    first_sound_s: float = 0.188
    """Silence before which its sound is not looked at, seconds: a look costs 50 ms of a core, and
    shorter silences are mostly gaps between words. Words and tone may end the turn before it."""
    look_interval_s: float = 0.188
    """Audio between two looks at the sound, seconds."""


class Endpointer:
    """Follows the turns of one caller, one after the other.

    Args:
        scorer: how likely it is that the turn is over.
        settings: when that is enough; asked each time, since the caller is not known at first.
        language: BCP 47 tag of what is spoken.
        agent_said: what the agent said last; asked each time.
    """

    def __init__(
        self,
        scorer: EndScorer,
        settings: Callable[[], EndpointingSettings],
        language: str,
        agent_said: Callable[[], str] = str,
    ) -> None:
        self._scorer = scorer
        self._settings = settings
        self._language = language
        self._agent_said = agent_said
        self._pauses = CallerPauses()
        self._voice = ToneOfVoice()
        self._tone: Tone | None = None
        self._heard = Heard(0, False, None, 0)
        self._open = False
        self._began = 0
        self._text = ""
        self._read_until = 0
        self._sound: float | None = None
        self._looked_at = 0

    @property
    def open(self) -> bool:
        """Whether the caller has begun a turn that is not over."""
        return self._open

    @property
    def speech_end(self) -> int:
        """Where the last speech stops, samples."""
        return self._heard.speech_end

    @property
    def text(self) -> str:
        """The words of the open turn that were read last."""
        return self._text

    @property
    def words_are_settled(self) -> bool:
        """Whether nothing was said that has not been read."""
        return self._read_until + _SETTLED_SAMPLES >= self._heard.speech_end and bool(self._text)

    def hear(self, heard: Heard) -> bool:
        """Take what the next window holds.

        Returns:
            Whether the sound should be looked at now, up to `heard.position`.
        """
        before, self._heard = self._heard, heard
        self._voice.hear(heard)
        if before.speech and not heard.speech:
            self._tone = self._voice.tone()
        if heard.speech:
            if not self._open:
                self._began = heard.position if heard.began is None else heard.began
            elif heard.began is None:
                self._pauses.went_on_after(before.silence_s)
            self._open = True
            self._sound = None
            self._looked_at = 0
            return False
        settings = self._settings()
        due = heard.position - self._looked_at >= settings.look_interval_s * RATE_HZ
        if self._open and due and heard.silence_s >= settings.first_sound_s:
            self._looked_at = heard.position
            return True
        return False

    def look(self, sound: float, position: int) -> None:
        """Take the sound model's opinion.

        Args:
            sound: probability in [0, 1] that the turn is over, from its sound.
            position: end of the audio that it heard; an opinion from before the last speech is
                forgotten.
        """
        if position > self._heard.speech_end:
            self._sound = sound

    def read(self, text: str, end: int) -> None:
        """Take the words so far.

        Args:
            text: everything said in this turn.
            end: how far the audio goes that they were read from, samples.
        """
        self._text = text
        self._read_until = max(self._read_until, end)

    def is_over(self) -> bool:
        """Whether the turn is over, as far as is known now."""
        if not self._open:
            return False
        settings = self._settings()
        silence_s = self._heard.silence_s
        if silence_s >= settings.hard_limit_s:
            return True
        # Before the words are there, no answer can be: there is nothing to win by being early.
        if silence_s < settings.first_look_s or not self.words_are_settled:
            return False
        words_end = ending(self._text, self._language, self._agent_said())
        if silence_s >= settings.whole_limit_s and words_end.may_be_whole:
            return True
        evidence = Evidence(
            silence_s=silence_s,
            sound=self._sound,
            tone=self._tone,
            ending=words_end,
            usual_pause_s=self._pauses.usual_s,
            speech_s=(self._heard.speech_end - self._began) / RATE_HZ,
        )
        return self._scorer.score(evidence) >= settings.threshold

    def close(self) -> None:
        """The turn is over: what comes next is another."""
        self._open = False
        self._text = ""
        self._sound = None

    def reopen(self) -> None:
        """The turn that ended last goes on after all: its end was a pause."""
        self._pauses.went_on_after(self._heard.silence_s)
        self._open = True
