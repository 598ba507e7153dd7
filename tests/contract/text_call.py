"""A call in text: our plugin, the real responder over a socket, the real databases."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import uvicorn
from livekit.agents import AgentSession, llm

from language_server.app import create_app
from language_server.settings import LanguageServerSettings
from speech_plugins import LLM
from tests.unit.voice_agent.test_tools import FakeLine
from voice_agent.agents import CallAgents, McpTools
from voice_agent.apologies import Apologies
from voice_agent.personas import Persona
from voice_agent.prompt import system_prompt
from voice_agent.session import MAX_TOOL_STEPS
from voice_agent.settings import AgentSettings
from voice_agent.tool_context import tool_context


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """An ASGI application on a free port; yields its address, without a path."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    started = asyncio.Event()
    startup = server.startup

    async def notify(sockets: object = None) -> None:
        await startup(sockets)  # type: ignore[arg-type]
        started.set()

    server.startup = notify  # type: ignore[method-assign]
    running = asyncio.create_task(server.serve())
    await asyncio.wait_for(started.wait(), 30)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def running_responder() -> AsyncIterator[str]:
    """The built-in responder on a free port; yields its base URL."""
    async with serving(create_app(LanguageServerSettings(language_port=0))) as address:
        yield f"{address}/v1"


class TextCaller:
    """One call in text.

    Args:
        model: The language model.
        persona: Who answers.
        path: SQLite file of the appointments; the ledger's lies beside it.
        clock: Local time of the practice.
        mcp_tools: Of the persona's agents.
    """

    def __init__(
        self,
        model: llm.LLM,
        persona: Persona,
        path: Path,
        clock: Callable[[], datetime],
        *,
        mcp_tools: McpTools | None = None,
    ) -> None:
        settings = AgentSettings(database=path)
        self.line = FakeLine()
        self.persona = persona
        self.context = tool_context(self.line, settings, persona, clock)
        self.warmed: list[str] = []
        self.agents = CallAgents(
            settings,
            persona,
            self.context,
            lambda prompt, _: self.warmed.append(prompt),
            mcp_tools,
        )
        self.model = model
        self.session: AgentSession = AgentSession(
            llm=model,
            vad=None,
            turn_handling={"turn_detection": None},
            max_tool_steps=MAX_TOOL_STEPS,
        )
        self.tools_run: list[str] = []
        """Names of the tools that were executed and did not answer with an error."""

    async def __aenter__(self) -> Self:
        Apologies(
            self.session,
            self.persona,
            say=self.session.say,
            may_be_silent=lambda: self.line.ended_after is not None,
        ).attach()
        self.session.on("function_tools_executed", self._on_tools_executed)
        await self.session.start(self.agents.first(), capture_run=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()
        await self.agents.aclose()
        await self.model.aclose()

    def said(self) -> list[str]:
        """Everything that the agent has said."""
        return [
            item.text_content or ""
            for item in self.session.history.items
            if item.type == "message" and item.role == "assistant"
        ]

    async def say(self, text: str) -> str:
        """Say something; returns the answer, an apology included.

        Raises:
            APIError: the model failed.
        """
        before = len(self.said())
        try:
            await asyncio.wait_for(self.session.run(user_input=text), 30)
        finally:
            await asyncio.wait_for(self.session.wait_for_idle(), 30)
        return " ".join(self.said()[before:])

    def _on_tools_executed(self, event: object) -> None:
        for call, output in event.zipped():  # type: ignore[attr-defined]
            if output is not None and not output.is_error and '"error"' not in output.output:
                self.tools_run.append(call.name)


def scripted_model(url: str, persona: Persona) -> LLM:
    """Our plugin for the responder."""
    return LLM(url=url, model="parley-responder", instructions=system_prompt(persona))
