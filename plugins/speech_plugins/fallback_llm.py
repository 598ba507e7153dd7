"""A language model with a second one behind it: whoever writes first answers, nobody repeats."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import openai as openai_sdk
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectionError,
    APIConnectOptions,
    APIError,
    APITimeoutError,
    NotGivenOr,
    llm,
)

from speech_plugins.connection import fast_options
from speech_plugins.fallback import PROBE_INTERVAL_S, FirstProvider, race
from speech_plugins.llm import LLM

HEAD_START_S = 0.5
"""Time that the first model has for its first token before the second is asked as well, seconds.
The slowest published figure for a cached prompt is 140 ms at 25 calls."""
GAP_TIMEOUT_S = 3.0
"""Longest wait for the next token of an answer that has begun, seconds. Then it is given up: what
was said cannot be taken back, and another model would begin again."""

_CONN_OPTIONS = APIConnectOptions(max_retry=3, retry_interval=0.25)


class FallbackLLM(llm.LLM):
    """The first of two models that answers.

    The first one is asked; when it fails before its first token, or has written none after
    `HEAD_START_S`, the second is asked as well, and the first token decides. A first model that
    lost is not asked again until it has computed the prompt's prefix, which shows that it is back
    and warms it.

    Args:
        first: the model to prefer.
        second: the model to turn to.
        instructions: the immutable system prompt, byte for byte as the agent sends it.
        tools: the tools that the agent offers with it.
        timeout_s: longest wait for either model's first token, seconds.
        probe_interval_s: time between two questions whether the first is back, seconds.
    """

    def __init__(
        self,
        first: LLM,
        second: LLM,
        *,
        instructions: str,
        tools: Sequence[llm.Tool] = (),
        timeout_s: float = 10.0,
        probe_interval_s: float = PROBE_INTERVAL_S,
    ) -> None:
        super().__init__()
        self.first = first
        self.second = second
        self.timeout_s = timeout_s
        self._instructions = instructions
        self._prefix_tools = list(tools)
        self.provider_state = FirstProvider("llm", self._probe, probe_interval_s)
        """Whether the first model is well."""
        for model in (first, second):
            model.on("metrics_collected", self._pass_on_metrics)

    @property
    def _next(self) -> LLM:
        return self.first if self.provider_state.is_well else self.second

    @property
    def model(self) -> str:
        """Model that is asked next."""
        return self._next.model

    @property
    def provider(self) -> str:
        """Label in metrics."""
        return self._next.provider

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[dict[str, Any]] = NOT_GIVEN,
    ) -> "FallbackLLMStream":
        """Ask for an answer."""
        return FallbackLLMStream(
            self,
            chat_ctx=chat_ctx,
            tools=tools or [],
            conn_options=fast_options(conn_options, _CONN_OPTIONS),
            request={
                "parallel_tool_calls": parallel_tool_calls,
                "tool_choice": tool_choice,
                "extra_kwargs": extra_kwargs,
            },
        )

    async def warm_prefix(self, instructions: str, tools: Sequence[llm.Tool]) -> None:
        """Have both models compute and keep the state of a prompt's prefix; see `LLM.warm_prefix`.

        Raises:
            openai.OpenAIError: neither model did.
        """
        self._instructions, self._prefix_tools = instructions, list(tools)
        warmed = await asyncio.gather(
            *(model.warm_prefix(instructions, tools) for model in (self.first, self.second)),
            return_exceptions=True,
        )
        failures = [error for error in warmed if error is not None]
        if len(failures) == len(warmed):
            raise failures[0]

    async def _prewarm_impl(self) -> None:
        await self.warm_prefix(self._instructions, self._prefix_tools)

    async def _probe(self) -> None:
        try:
            await self.first.warm_prefix(self._instructions, self._prefix_tools)
        except openai_sdk.OpenAIError as error:
            raise APIConnectionError("the first model does not answer") from error

    def _pass_on_metrics(self, metrics: Any) -> None:
        self.emit("metrics_collected", metrics)

    async def aclose(self) -> None:
        """Close the connections of both."""
        await super().aclose()
        await self.provider_state.aclose()
        await self.first.aclose()
        await self.second.aclose()


@dataclass
class _Answer:
    """An answer that has begun."""

    stream: llm.LLMStream
    begun: list[llm.ChatChunk] = field(default_factory=list)
    """What has come of it: up to the first text or tool call, or all of it where there is none."""
    ended: bool = False


class FallbackLLMStream(llm.LLMStream):
    """One answer, from whichever model began it."""

    # As LiveKit's FallbackAdapter: the models' own streams report the inference and its metrics.
    _llm_request_span_name: ClassVar[str] = "llm_fallback"
    _llm_attempt_span_name: ClassVar[str | None] = None
    _genai_operation_name: ClassVar[str | None] = None

    def __init__(
        self,
        llm: FallbackLLM,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool],
        conn_options: APIConnectOptions,
        request: dict[str, Any],
    ) -> None:
        super().__init__(llm, chat_ctx=chat_ctx, tools=tools, conn_options=conn_options)
        self._owner = llm
        self._request = request
        # An answer that has begun is not begun again.
        self._retry_on_chunk_sent = False

    async def _run(self) -> None:
        owner, state = self._owner, self._owner.provider_state
        first_is_well = state.is_well
        preferred, other = (
            (owner.first, owner.second) if first_is_well else (owner.second, owner.first)
        )
        answer, lost = await race(
            self._begin(preferred),
            lambda: self._begin(other),
            head_start_s=HEAD_START_S,
            discard=lambda late: late.stream.aclose(),
        )
        from_first = first_is_well and lost is None
        if first_is_well and lost is not None:
            state.failed(lost)
        try:
            await self._pass_on(answer)
        except APIError as error:
            if from_first:
                state.failed(error)
            raise
        finally:
            await answer.stream.aclose()
        if from_first:
            state.served()

    async def _begin(self, model: LLM) -> _Answer:
        options = APIConnectOptions(max_retry=0, timeout=self._owner.timeout_s)
        answer = _Answer(
            model.chat(
                chat_ctx=self._chat_ctx, tools=self._tools, conn_options=options, **self._request
            )
        )
        try:
            async for chunk in answer.stream:
                answer.begun.append(chunk)
                if chunk.has_response():
                    return answer
        except BaseException:
            await answer.stream.aclose()
            raise
        answer.ended = True
        return answer

    async def _pass_on(self, answer: _Answer) -> None:
        for chunk in answer.begun:
            self._event_ch.send_nowait(chunk)
        try:
            while not answer.ended:
                async with asyncio.timeout(GAP_TIMEOUT_S):
                    chunk = await anext(answer.stream)
                self._event_ch.send_nowait(chunk)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise APITimeoutError(
                f"the answer stopped for {GAP_TIMEOUT_S:g} s", retryable=False
            ) from None

    async def _metrics_monitor_task(self, event_aiter: Any) -> None:
        async for _ in event_aiter:
            pass
