"""Says sorry when a turn would end in silence: a service failed, or the model said nothing."""

import logging
from collections.abc import Callable

from livekit.agents import AgentSession, ErrorEvent, SpeechCreatedEvent, llm
from livekit.agents.voice import SpeechHandle

from voice_agent.personas import Persona

logger = logging.getLogger(__name__)


class Apologies:
    """Watches one session for turns that the caller would hear nothing of.

    Args:
        session: The call's session.
        persona: Whose words of apology are said.
        say: Says them.
        may_be_silent: Whether silence is right: the call is being hung up, or somebody else has it.
    """

    def __init__(
        self,
        session: AgentSession,
        persona: Persona,
        say: Callable[[str], object],
        may_be_silent: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._persona = persona
        self._say = say
        self._may_be_silent = may_be_silent

    def attach(self) -> None:
        """Begin to watch."""
        self._session.on("error", self._on_error)
        self._session.on("speech_created", self._on_speech_created)

    def _on_error(self, event: ErrorEvent) -> None:
        error = event.error
        if error.recoverable:
            return
        logger.error("service failed", extra={"service": error.type, "reason": str(error.error)})
        if error.type == "llm_error":
            self._say(self._persona.apology)
        elif error.type == "stt_error":
            self._say(self._persona.deaf_apology)

    def _on_speech_created(self, event: SpeechCreatedEvent) -> None:
        if event.source == "generate_reply":
            agent = self._session.current_agent
            event.speech_handle.add_done_callback(lambda speech: self._on_done(speech, agent))

    def _on_done(self, speech: SpeechHandle, agent: object) -> None:
        if speech.interrupted or not speech.scheduled or speech.exception() is not None:
            return  # nobody waits for it, or the error was told already
        if any(is_spoken(item) for item in speech.chat_items):
            return
        if self._may_be_silent() or self._session.current_agent is not agent:
            return
        logger.warning("model answered with nothing that can be said")
        self._say(self._persona.apology)


def is_spoken(item: object) -> bool:
    """Whether a chat item is words that the caller heard."""
    return (
        isinstance(item, llm.ChatMessage) and item.role == "assistant" and bool(item.text_content)
    )
