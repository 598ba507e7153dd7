"""Notices a caller who is gone: asks after them, then lets them go."""

import logging
from collections.abc import Callable
from typing import Final

from livekit.agents import (
    AgentSession,
    AgentStateChangedEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
    llm,
)
from livekit.agents.voice.events import ConversationItemAddedEvent

from voice_agent.asked_to_wait import asked_to_wait

logger = logging.getLogger(__name__)

PATIENT_WAITS: Final = 3
"""Further waits for a caller who has asked for a moment: with a wait of 15 s, a minute in all."""


class SilenceWatch:
    """Decides what the silence means that LiveKit calls "away".

    LiveKit's wait runs while neither side speaks, and so also while a transcript is late or a turn
    waits for its answer. A caller who was heard since the agent last spoke is waiting for us: their
    silence is given one more wait. One and not endless, since a sound need not have been a word.
    A caller who asked for a moment ("hold on, I will look for it") is given `PATIENT_WAITS` more.

    Args:
        session: The call's session.
        ask: Asks whether the caller is there; calls `asked` when that has been said.
        give_up: Ends the call.
        is_waiting: Whether the caller's silence means nothing at the moment: on hold, for example.
    """

    def __init__(
        self,
        session: AgentSession,
        ask: Callable[[], None],
        give_up: Callable[[], None],
        is_waiting: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._ask = ask
        self._give_up = give_up
        self._is_waiting = is_waiting
        self._asked = False
        self._owes_answer = False
        self._waited_longer = False
        self._patience = 0
        """Waits left of the moment that the caller asked for."""

    def attach(self) -> None:
        """Begin to watch."""
        self._session.on("user_state_changed", self._on_user_state_changed)
        self._session.on("user_input_transcribed", self._on_transcribed)
        self._session.on("conversation_item_added", self._on_item_added)
        self._session.on("agent_state_changed", self._on_agent_state_changed)

    def asked(self) -> None:
        """The question has been said: start the second wait."""
        # LiveKit leaves the caller "away" until they speak
        self._session.reset_away_timer()

    def _on_user_state_changed(self, event: UserStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._asked = False
            self._caller_was_heard()
        elif event.new_state == "away":
            self._on_away()

    def _on_transcribed(self, event: UserInputTranscribedEvent) -> None:
        if event.transcript:
            self._caller_was_heard()

    def _on_item_added(self, event: ConversationItemAddedEvent) -> None:
        if isinstance(event.item, llm.ChatMessage) and event.item.role == "user":
            self._asked = False
            self._patience = PATIENT_WAITS if asked_to_wait(event.item.text_content or "") else 0
            self._caller_was_heard()

    def _on_agent_state_changed(self, event: AgentStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._owes_answer = False

    def _caller_was_heard(self) -> None:
        self._owes_answer = True
        self._waited_longer = False

    def _on_away(self) -> None:
        if self._is_waiting():
            self._session.reset_away_timer()
        elif self._patience:
            self._patience -= 1
            self._session.reset_away_timer()
        elif self._owes_answer and not self._waited_longer:
            logger.info("caller was heard and has no answer yet, waiting longer")
            self._waited_longer = True
            self._session.reset_away_timer()
        elif self._asked:
            logger.info("caller is silent, hanging up")
            self._give_up()
        else:
            self._asked = True
            self._ask()
