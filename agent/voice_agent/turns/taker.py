"""One stream's turn-taking: hears and reads along, and says when a turn is over or was none."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from speech_plugins.turn_taking import TurnLine
from voice_agent.turns.backchannel import LONGEST_S, is_backchannel
from voice_agent.turns.endpointer import Endpointer
from voice_agent.turns.onset import SpeechOnset
from voice_agent.turns.sound import SOUND_SAMPLES, Pcm16, SoundModel
from voice_agent.turns.speech_activity import RATE_HZ, Heard, SpeechActivity

logger = logging.getLogger(__name__)

_NOTHING_SAID_S: Final = 0.4
"""Silence after a sound without words, seconds, for which the agent fell silent or a turn was
reopened: all goes on as if it had not been."""
_LISTENING_S: Final = 0.24
"""Silence after which a back-channel is taken for one, seconds. The recorded set's "Okay, but" and
"Yes, but" have gaps of up to 0.2 s: sooner, the agent is heard again before the "but"."""
_ANSWERS_UNTIL_S: Final = 1.0
"""A back-channel so shortly before the agent has finished was the answer to it, seconds."""
_STARTLED: Final = 2
"""So often in a row the agent fell silent for a sound that held no words: a line that echoes."""
_STARTLED_S: Final = 0.3
"""Sound that it takes then before it falls silent again, seconds."""
_SIGN_S: Final = 0.25
"""How long a sign of speech keeps the agent silent when nothing comes of it, seconds: the model may
doubt the beginning of a word for half as long, and an agent heard again in between is not silent.
"""
_KEPT_SAMPLES: Final = SOUND_SAMPLES + RATE_HZ // 10


class Floor(Protocol):
    """The other side of the conversation, as far as turn-taking needs it."""

    @property
    def agent_has_it(self) -> bool:
        """Whether the agent is speaking, or would be had the caller not begun."""
        ...

    def hold_agent(self) -> None:
        """The caller makes a sound: the agent falls silent for now."""
        ...

    def release_agent(self) -> None:
        """It was nothing: the agent goes on where it stopped."""
        ...

    def take_from_agent(self) -> None:
        """The caller wants the floor: the agent's speech is over."""
        ...

    def take_back_turn(self) -> bool:
        """Undo the caller's last turn, where no answer to it was heard yet; whether that went."""
        ...


@dataclass(frozen=True, slots=True)
class _Aside:
    """A back-channel that may turn out to be an answer."""

    at: int
    """When it was put aside, samples."""


class StreamTurnTaker:
    """Decides for one stream. Implements `speech_plugins.turn_taking.TurnTaker`.

    Args:
        line: the stream.
        floor: the conversation it belongs to.
        activity: finds its speech.
        endpointer: decides when its turns are over.
        sound: judges how its speech ends.
        tell_heard: told of every window.
        onset: finds signs of speech between the windows of `activity`; None: nobody does.
    """

    def __init__(
        self,
        line: TurnLine,
        floor: Floor,
        activity: SpeechActivity,
        endpointer: Endpointer,
        sound: SoundModel,
        tell_heard: Callable[[Heard], None],
        onset: SpeechOnset | None = None,
    ) -> None:
        self._line = line
        self._floor = floor
        self._activity = activity
        self._endpointer = endpointer
        self._sound = sound
        self._tell_heard = tell_heard
        self._onset = onset
        self._recent: Pcm16 = np.zeros(0, np.int16)
        self._received = 0
        self._heard = Heard(0, False, None, 0)
        self._began = 0
        self._over_agent = False
        self._holds_agent = False
        self._holds_for_nothing = 0
        """Since somebody spoke last."""
        self._sign_at = 0
        """Where the last sound ends that may have been speech."""
        self._reopened = False
        self._aside: _Aside | None = None
        self._look: asyncio.Future[float] | None = None
        self._closed = False

    # --- as a `TurnTaker` ---

    def hear(self, pcm: Pcm16) -> None:
        """See `TurnTaker.hear`."""
        self._received += len(pcm)
        self._recent = np.concatenate((self._recent, pcm))[-_KEPT_SAMPLES:]
        for heard in self._activity.push(pcm):
            self._heard = heard
            self._tell_heard(heard)
            if heard.began is not None:
                self._on_speech_began(heard.began)
            self._hold_or_release()
            if self._over_agent and self._duration_s > LONGEST_S:
                # No back-channel, whatever the words are: a slow recogniser tells them too late.
                self._take_floor()
            if self._endpointer.hear(heard):
                self._look_at_sound(heard.position)
            self._decide()
        if self._onset is not None and self._onset.push(pcm) and not self._endpointer.open:
            self._on_sign(self._received)

    def read(self, text: str, end: int) -> None:
        """See `TurnTaker.read`."""
        self._endpointer.read(text, end)
        self._holds_for_nothing = 0
        if self._over_agent and not is_backchannel(text, self._duration_s):
            # Not at the end of the turn: from here on an answer may be prepared.
            self._take_floor()
        self._decide()

    def close(self) -> None:
        """See `TurnTaker.close`."""
        self._closed = True
        self._release_agent(for_nothing=False)
        if self._look is not None:
            self._look.cancel()

    # --- from the conversation ---

    def agent_stopped(self) -> None:
        """The agent has said all that it wanted to."""
        aside, self._aside = self._aside, None
        self._over_agent = self._holds_agent = False
        if aside is not None and self._heard.position - aside.at <= _ANSWERS_UNTIL_S * RATE_HZ:
            self._line.take_up()

    # --- what happens ---

    @property
    def _duration_s(self) -> float:
        return (self._heard.speech_end - self._began) / RATE_HZ

    def _hold_or_release(self) -> None:
        """Silence the agent at the first sign of speech; let it go on where the sign was none."""
        if self._over_agent:
            if self._duration_s >= self._holds_after_s:
                self._hold_agent()
        elif self._heard.may_begin:
            self._on_sign(self._heard.position)
        elif self._heard.position - self._sign_at > _SIGN_S * RATE_HZ:
            self._release_agent(for_nothing=True)

    def _on_sign(self, position: int) -> None:
        """Silence the agent, should it have the floor: speech may have begun."""
        self._sign_at = position
        if not self._holds_after_s and self._floor.agent_has_it:
            self._hold_agent()

    @property
    def _holds_after_s(self) -> float:
        return _STARTLED_S if self._holds_for_nothing >= _STARTLED else 0.0

    def _hold_agent(self) -> None:
        if not self._holds_agent:
            self._holds_agent = True
            self._floor.hold_agent()

    def _release_agent(self, *, for_nothing: bool) -> None:
        if self._holds_agent:
            self._holds_agent = False
            self._holds_for_nothing += for_nothing
            self._floor.release_agent()

    def _take_floor(self) -> None:
        self._over_agent = self._holds_agent = False
        self._floor.take_from_agent()

    def _on_speech_began(self, began: int) -> None:
        self._began = began
        self._over_agent = self._floor.agent_has_it
        recently_aside = self._aside is not None and (
            began - self._aside.at <= _ANSWERS_UNTIL_S * RATE_HZ
        )
        self._aside = None
        if recently_aside:
            # "Okay, ... but what does it cost?": it was the beginning of a turn.
            self._line.reopen()
        elif not self._over_agent and self._floor.take_back_turn():
            logger.info("caller went on, turn reopened")
            self._line.reopen()
            self._endpointer.reopen()
            self._reopened = True

    def _decide(self) -> None:
        if self._closed or not self._endpointer.open:
            return
        if self._over_agent and self._heard.silence_s < _LISTENING_S:
            return  # the words leave the agent the floor; whether they are all is not known yet
        if self._over_agent and self._listens_on():
            self._aside = _Aside(self._heard.position) if self._endpointer.text else None
            self._release_agent(for_nothing=self._aside is None)
            self._end_stretch()
            self._line.set_aside()
        elif self._endpointer.is_over() or (self._reopened and self._nothing_was_said()):
            speech_end = self._endpointer.speech_end
            self._release_agent(for_nothing=False)
            self._end_stretch()
            self._line.end_turn(speech_end)

    def _listens_on(self) -> bool:
        """Whether what was said over the agent's speech was a sign of listening, or nothing."""
        return self._nothing_was_said() or (
            self._endpointer.words_are_settled
            and is_backchannel(self._endpointer.text, self._duration_s)
        )

    def _nothing_was_said(self) -> bool:
        return not self._endpointer.text and self._heard.silence_s >= _NOTHING_SAID_S

    def _end_stretch(self) -> None:
        self._over_agent = self._reopened = False
        self._endpointer.close()
        self._activity.close_stretch()

    # --- the sound ---

    def _look_at_sound(self, position: int) -> None:
        if self._look is not None and not self._look.done():
            return  # the machine is slower than the pauses: the next look comes later
        newer = self._received - position
        pcm = self._recent[: len(self._recent) - newer][-SOUND_SAMPLES:]
        loop = asyncio.get_running_loop()
        self._look = loop.run_in_executor(None, self._sound.probability, pcm)
        self._look.add_done_callback(lambda look: self._on_look(look, position))

    def _on_look(self, look: "asyncio.Future[float]", position: int) -> None:
        if look.cancelled() or self._closed:
            return
        if (error := look.exception()) is not None:
            logger.error("sound model failed, deciding by words", exc_info=error)
            return
        self._endpointer.look(look.result(), position)
        self._decide()
