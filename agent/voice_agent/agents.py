"""The agents of one call: makes each, and has the next one ready before it is needed.

The first agent is the persona itself. A hand-over carries the conversation, keeps what the caller
has proved, and changes instructions, tools, scopes, and where the persona says so voice and
language.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from livekit.agents import NOT_GIVEN, AgentSession, NotGivenOr, llm, stt, tts

from voice_agent.assistant import Assistant
from voice_agent.mcp_spec import McpServerSpec
from voice_agent.personas import Persona
from voice_agent.prompt import system_prompt
from voice_agent.providers import create_tts
from voice_agent.settings import AgentSettings
from voice_agent.stt_in_language import SttInLanguage
from voice_agent.telephony.phone_call import PhoneCall
from voice_agent.tools.definition import ToolContext
from voice_agent.tools.execution import bind
from voice_agent.tools.handover import TakeOver, handover_tool
from voice_agent.tools.mcp_tools import McpConnections, McpTool
from voice_agent.tools.registry import bind_tools
from voice_agent.tools.transfer_call import transfer_tool

MAX_CARRIED_ITEMS = 40
"""Newest messages that go over to the next agent."""

WarmSoon = Callable[[str, Sequence[llm.Tool]], None]
"""Has the model server compute the prefix of these instructions and tools, without our waiting."""

McpTools = Mapping[str | None, Sequence[McpTool]]
"""The connected MCP tools of each agent of a persona; None is the first agent."""


async def connect_mcp(persona: Persona, connections: McpConnections) -> McpTools:
    """Connect to the MCP servers of every agent of a persona, side by side."""
    roles: dict[str | None, Mapping[str, McpServerSpec]] = {None: persona.mcp}
    roles |= {name: role.mcp for name, role in persona.agents.items()}
    tools = await asyncio.gather(*(connections.connect(servers) for servers in roles.values()))
    return dict(zip(roles, tools, strict=True))


def _warm_nothing(instructions: str, tools: Sequence[llm.Tool]) -> None:
    """For sessions without a model server."""


class CallAgents:
    """Makes the agents of one call.

    Args:
        settings: Where the models are, for agents with a voice or language of their own.
        persona: With its `agents`.
        context: Of the first agent's tools.
        warm_soon: Called when an agent has the call, with the prefix of each that may be next.
        mcp_tools: Tools of the MCP servers of each agent; None is the first agent.
        phone: The telephone of the call; None: the caller has none.
    """

    def __init__(
        self,
        settings: AgentSettings,
        persona: Persona,
        context: ToolContext,
        warm_soon: WarmSoon = _warm_nothing,
        mcp_tools: McpTools | None = None,
        phone: PhoneCall | None = None,
    ) -> None:
        self._settings = settings
        self._persona = persona
        self._warm_soon = warm_soon
        self._mcp_tools = mcp_tools or {}
        self._phone = phone
        self._roles: dict[str | None, Persona] = {None: persona}
        self._roles |= {name: persona.colleague(name) for name in persona.agents}
        self._contexts = {
            name: context
            if name is None
            else replace(context, grants=context.grants.of_another_agent(role.granted))
            for name, role in self._roles.items()
        }
        self._tools = {name: self._bind(name) for name in self._roles}
        self._warmed: set[str | None] = {None}
        self._models: list[stt.STT | tts.TTS] = []

    @property
    def first_tools(self) -> Sequence[llm.Tool]:
        """What the first agent offers the model."""
        return self._tools[None]

    def first(self) -> Assistant:
        """The agent that greets."""
        return Assistant(
            self._persona,
            self._tools[None],
            self._contexts[None].clock(),
            on_entered=lambda: self._warm_those_after(None),
            phone=self._phone,
        )

    async def aclose(self) -> None:
        """Close the models that agents had of their own."""
        for model in self._models:
            await model.aclose()

    def _bind(self, name: str | None) -> list[llm.Tool]:
        role, context = self._roles[name], self._contexts[name]
        transfers = (transfer_tool(role.destinations),) if role.transfers_to else ()
        return [
            *bind_tools(role.tools, context),
            *(bind(tool, context) for tool in transfers),
            *(bind(tool, context) for tool in self._mcp_tools.get(name, ())),
            *(
                handover_tool(target, self._persona.agents[target], context, self._taker(target))
                for target in role.hands_over_to
            ),
        ]

    def _taker(self, name: str) -> TakeOver:
        return lambda session: self._take_over(name, session)

    def _take_over(self, name: str, session: AgentSession) -> Assistant:
        role, first = self._roles[name], self._persona
        own_stt: NotGivenOr[stt.STT] = NOT_GIVEN
        own_tts: NotGivenOr[tts.TTS] = NOT_GIVEN
        if role.language != first.language and session.stt is not None:
            own_stt = SttInLanguage(session.stt, role.language)
            self._models.append(own_stt)
        if (role.voice, role.language) != (first.voice, first.language):
            own_tts = create_tts(self._settings, voice=role.voice, language=role.language)
            self._models.append(own_tts)
        return Assistant(
            role,
            self._tools[name],
            self._contexts[name].clock(),
            name=name,
            opening=self._persona.agents[name].introduction,
            carried=_conversation(session.current_agent.chat_ctx),
            on_entered=lambda: self._warm_those_after(name),
            own_stt=own_stt,
            own_tts=own_tts,
            phone=self._phone,
        )

    def _warm_those_after(self, name: str | None) -> None:
        for target in self._roles[name].hands_over_to:
            if target not in self._warmed:
                self._warmed.add(target)
                self._warm_soon(system_prompt(self._roles[target]), self._tools[target])


def _conversation(chat_ctx: llm.ChatContext) -> llm.ChatContext:
    """What was said, without the instructions and the tool calls of the agent that heard it."""
    said = chat_ctx.copy(
        exclude_instructions=True,
        exclude_function_call=True,
        exclude_handoff=True,
        exclude_config_update=True,
        exclude_empty_message=True,
    )
    return llm.ChatContext(said.items[-MAX_CARRIED_ITEMS:])
