"""The agent in LiveKit's sense: a persona's words and tools, put to work in one session."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, cast

from livekit.agents import (
    NOT_GIVEN,
    Agent,
    ModelSettings,
    NotGivenOr,
    StopResponse,
    llm,
    stt,
    tts,
)

from voice_agent.personas import Persona
from voice_agent.prompt import call_context, system_prompt
from voice_agent.reply_guard import guard_reply
from voice_agent.telephony.caller import line_prompt
from voice_agent.telephony.phone_call import PhoneCall
from voice_agent.telephony.turn_redaction import redact_turn


class Assistant(Agent):
    """Greets, answers and acts as its persona says.

    Args:
        persona: Who speaks.
        tools: The persona's tools, bound to this call.
        now: Local time of the practice when the call begins, without a zone.
        name: Of the agent among those of the persona.
        opening: First words; None: it answers what the caller has already said.
        carried: The conversation so far, where another agent has had it.
        on_entered: Told once the agent has the call.
        own_stt: Recogniser of an agent with a language of its own.
        own_tts: Voice of an agent with a voice of its own.
        phone: The telephone of the call; None: the caller has none.
    """

    def __init__(
        self,
        persona: Persona,
        tools: Sequence[llm.Tool],
        now: datetime,
        *,
        name: str | None = None,
        opening: str | None = None,
        carried: llm.ChatContext | None = None,
        on_entered: Callable[[], None] = lambda: None,
        own_stt: NotGivenOr[stt.STT] = NOT_GIVEN,
        own_tts: NotGivenOr[tts.TTS] = NOT_GIVEN,
        phone: PhoneCall | None = None,
    ) -> None:
        about_line = line_prompt(phone.caller) if phone is not None else None
        super().__init__(
            id=name or persona.name,
            instructions=system_prompt(persona),
            chat_ctx=call_context(now, carried, about_line),
            tools=list(tools),
            stt=own_stt,
            tts=own_tts,
        )
        self._opening = persona.greeting if carried is None else opening
        self._takes_over = carried is not None
        self._on_entered = on_entered
        self._phone = phone

    async def on_enter(self) -> None:
        """Speak first; an agent that takes over goes on with what the caller wants."""
        if (
            self._phone is not None
            and not self._takes_over
            and not await self._phone.greet_whom(self.session)
        ):
            return
        if self._opening is not None:
            self.session.say(self._opening, allow_interruptions=True)
        if self._takes_over:
            self.session.generate_reply()
        self._on_entered()

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        """Take card numbers out before a model or a store has them; answer nobody who may be none.

        Raises:
            StopResponse: it is not known yet whether a person or a machine has answered our call.
        """
        redact_turn(turn_ctx, new_message)
        if self._phone is not None and self._phone.is_screening:
            raise StopResponse

    async def llm_node(
        self,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool],
        model_settings: ModelSettings,
    ) -> AsyncIterator[llm.ChatChunk | str]:
        """The model's reply, kept to what can be said."""
        chunks = cast(
            AsyncIterable[Any], Agent.default.llm_node(self, chat_ctx, tools, model_settings)
        )
        async for chunk in guard_reply(chunks):
            yield chunk
