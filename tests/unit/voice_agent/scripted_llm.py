"""A language model for tests that says what it is told to, and remembers what it was asked."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from livekit.agents import APIConnectionError, APIConnectOptions, llm
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: str
    """Sent as it is; need not be JSON."""


@dataclass(frozen=True)
class Endless:
    text: str
    """Sent again and again, until the stream is closed."""


Reply = str | ToolCall | Exception | Endless
"""One step of a script; an exception fails the request."""


class ScriptedLLM(llm.LLM):
    """Each request gets the next step, which may hold several pieces; then "Nothing more."."""

    def __init__(self, *steps: Reply | Sequence[Reply]) -> None:
        super().__init__()
        self._steps = [[step] if isinstance(step, Reply) else list(step) for step in steps]
        self.requests: list[list[dict[str, Any]]] = []
        self.left = asyncio.Event()
        """An endless reply was left."""

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        **_: object,
    ) -> llm.LLMStream:
        messages, _none = chat_ctx.to_provider_format("openai")
        self.requests.append(messages)
        step: list[Reply] = self._steps.pop(0) if self._steps else ["Nothing more."]
        return _Stream(self, step, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)

    def last_tool_result(self) -> str:
        results = [m["content"] for m in self.requests[-1] if m["role"] == "tool"]
        return str(results[-1])


class _Stream(llm.LLMStream):
    def __init__(self, model: ScriptedLLM, step: list[Reply], **kwargs: Any) -> None:
        super().__init__(model, **kwargs)
        self._step = step

    async def _run(self) -> None:
        for index, piece in enumerate(self._step):
            if isinstance(piece, Exception):
                raise APIConnectionError(str(piece), retryable=False)
            if isinstance(piece, Endless):
                await self._send_without_end(piece.text)
            elif isinstance(piece, str):
                delta = llm.ChoiceDelta(role="assistant", content=piece)
            else:
                call = llm.FunctionToolCall(
                    name=piece.name, arguments=piece.arguments, call_id=f"call_{index}"
                )
                delta = llm.ChoiceDelta(role="assistant", tool_calls=[call])
            self._event_ch.send_nowait(llm.ChatChunk(id="scripted", delta=delta))

    async def _send_without_end(self, text: str) -> NoReturn:
        model = self._llm
        assert isinstance(model, ScriptedLLM)
        delta = llm.ChoiceDelta(role="assistant", content=text)
        try:
            while True:
                self._event_ch.send_nowait(llm.ChatChunk(id="scripted", delta=delta))
                await asyncio.sleep(0)
        finally:
            model.left.set()
