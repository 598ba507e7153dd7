"""The agent in LiveKit's sense: a persona's words and tools, put to work in one session."""

from collections.abc import Sequence
from datetime import datetime

from livekit.agents import Agent, llm

from voice_agent.personas import Persona
from voice_agent.prompt import call_context, system_prompt


class Assistant(Agent):
    """Greets, answers and acts as its persona says.

    Args:
        persona: Who speaks.
        tools: The persona's tools, bound to this call.
        now: Local time of the practice when the call begins, without a zone.
    """

    def __init__(self, persona: Persona, tools: Sequence[llm.Tool], now: datetime) -> None:
        super().__init__(
            instructions=system_prompt(persona),
            chat_ctx=call_context(now),
            tools=list(tools),
        )
        self._persona = persona

    async def on_enter(self) -> None:
        """Speak first: the greeting, which tells the caller that a machine is speaking."""
        self.session.say(self._persona.greeting, allow_interruptions=True)
