"""LiveKit's OpenAI `LLM` for a model server of one's own: prefix prewarm and guarded streams."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Sequence
from typing import Any

import httpx2
import openai as openai_sdk
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    APIError,
    APITimeoutError,
    NotGivenOr,
    llm,
    utils,
)
from livekit.agents.llm.utils import ThinkingTokenFilter
from livekit.agents.utils import is_given
from livekit.plugins import openai
from openai.types.chat.chat_completion_chunk import Choice

from speech_plugins.connection import fast_options
from speech_plugins.llm_metrics import Outcome, observe_end, observe_usage
from speech_plugins.priority import Priority, current_priority
from speech_plugins.tls import tls_context

logger = logging.getLogger(__name__)

_CONNECT_TIMEOUT_S = 3.0
_MAX_CONNECTIONS = 50
"""One call has two at work at most: an answer, and the speculation that replaces it."""
_KEEP_ALIVE_S = 120.0
"""Life of an idle connection, seconds: longer than callers think."""


SESSION_HEADER = "X-Session-ID"
"""Keeps a call's requests on one copy of the model; vLLM's router reads the same."""
KEEP_PREFIX_HEADER = "X-Parley-Keep-Prefix"
"""Asks our language server to keep a prompt's prefix in its cache; others ignore it."""


class LLM(openai.LLM):
    """A language model behind any OpenAI-compatible URL.

    What it adds to its base: the prompt's prefix is computed before the first turn; a stream that
    stops sending tokens ends in a retryable timeout (the base waits for bytes, and a keep-alive
    comment is bytes too); tool calls without an id are kept and those cut off are an error.
    Arguments that are not JSON and names of no tool reach the model as tool errors: the framework
    does that. Every request tells which call it belongs to, and how urgent it is where the server
    heeds that; cached prompt tokens and ends are counted (`llm_metrics`).

    Args:
        url: base URL, with its `/v1`.
        model: model to ask for.
        api_key: key; local servers take any.
        timeout_s: longest wait for the next token, seconds.
        instructions: the immutable system prompt, byte for byte as the agent sends it.
        tools: the tools that the agent offers with it.
        temperature: sampling temperature; None leaves it to the server.
        max_tokens: longest answer, tokens; None leaves it to the server.
        extra_body: further fields of the request body, for a server's own options.
        session_id: what the requests of one call have in common (the room's name), so that a
            server with several copies of the model sends them to the same one.
        priorities: whether the server heeds vLLM's `priority`; some refuse a request that has one.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        api_key: str = "none",
        timeout_s: float = 10.0,
        instructions: str | None = None,
        tools: Sequence[llm.Tool] = (),
        temperature: float | None = None,
        max_tokens: int | None = None,
        extra_body: dict[str, Any] | None = None,
        session_id: str | None = None,
        priorities: bool = False,
    ) -> None:
        super().__init__(
            model=model,
            client=openai_sdk.AsyncClient(
                base_url=url,
                api_key=api_key,
                max_retries=0,
                default_headers=_session_header(session_id),
                http_client=httpx2.AsyncClient(
                    timeout=openai_sdk.Timeout(timeout_s, connect=_CONNECT_TIMEOUT_S),
                    follow_redirects=True,
                    limits=httpx2.Limits(
                        max_connections=_MAX_CONNECTIONS, keepalive_expiry=_KEEP_ALIVE_S
                    ),
                    verify=tls_context(url),
                ),
            ),
            # Strict schemas make every optional argument a required one that may be null, which
            # costs prompt tokens and which local servers do not enforce.
            _strict_tool_schema=False,
        )
        self._instructions = instructions
        self._prefix_tools = list(tools)
        self._conn_options = APIConnectOptions(max_retry=3, retry_interval=0.25, timeout=timeout_s)
        self._request: dict[str, Any] = {}
        if temperature is not None:
            self._request["temperature"] = temperature
        if max_tokens is not None:
            self._request["max_tokens"] = max_tokens
        if extra_body is not None:
            self._request["extra_body"] = extra_body
        self._priorities = priorities
        self.on("metrics_collected", observe_usage)

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        response_format: NotGivenOr[Any] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[dict[str, Any]] = NOT_GIVEN,
    ) -> "LLMStream":
        """Ask for an answer, as urgently as `current_priority` says.

        Raises:
            ValueError: `response_format` is given; nothing here uses it.
        """
        if is_given(response_format):
            raise ValueError("response_format is not supported")
        request = dict(self._request)
        if is_given(extra_kwargs):
            request.update(extra_kwargs)
        priority = current_priority()
        request["extra_body"] = self._body(request.get("extra_body"), priority)
        if is_given(parallel_tool_calls):
            request["parallel_tool_calls"] = parallel_tool_calls
        if is_given(tool_choice):
            request["tool_choice"] = tool_choice
        return LLMStream(
            self,
            model=self.model,
            provider_fmt="openai",
            strict_tool_schema=False,
            client=self._client,
            chat_ctx=chat_ctx,
            tools=tools or [],
            conn_options=fast_options(conn_options, self._conn_options),
            extra_kwargs=request,
            priority=priority,
        )

    def _body(self, extra: dict[str, Any] | None, priority: Priority) -> dict[str, Any]:
        """The body's further fields; a committed turn's priority is what servers take anyway."""
        if not self._priorities or priority is Priority.COMMITTED:
            return extra or {}
        return {"priority": int(priority), **(extra or {})}

    async def aclose(self) -> None:
        """Close the connections."""
        await super().aclose()
        await self._client.close()

    async def _prewarm_impl(self) -> None:
        try:
            if self._instructions is None:
                await super()._prewarm_impl()
            else:
                await self.warm_prefix(self._instructions, self._prefix_tools)
        except openai_sdk.OpenAIError as error:
            # The first turn pays instead; it also tells the caller if the server is really gone.
            logger.warning("language model prewarm failed", extra={"error": str(error)})

    async def warm_prefix(self, instructions: str, tools: Sequence[llm.Tool]) -> None:
        """Have the server compute and keep the state of a prompt's prefix.

        Done by itself for the prefix of the constructor; call it before a handoff to another agent.
        Our language server then keeps it in the cache from now on; others do as long as they can.

        Args:
            instructions: the system prompt, byte for byte as it will be sent.
            tools: the tools that will be sent with it; many templates put them into the prefix.

        Raises:
            openai.OpenAIError: the server did not answer.
        """
        schemas: Any = llm.ToolContext(tools).parse_function_tools("openai", strict=False)
        started = time.perf_counter()
        answer = await self._client.chat.completions.create(
            model=self.model,
            messages=[
                {"role": "system", "content": instructions},
                # Some templates refuse a prompt without a user; what follows is no prefix anyway.
                {"role": "user", "content": "Hello."},
            ],
            tools=schemas or openai_sdk.omit,
            extra_body=self._body(self._request.get("extra_body"), current_priority()),
            extra_headers={KEEP_PREFIX_HEADER: "1"},
            max_tokens=1,
        )
        logger.info(
            "language model prefix is warm",
            extra={
                "duration_s": round(time.perf_counter() - started, 3),
                "prompt_tokens": answer.usage.prompt_tokens if answer.usage else None,
            },
        )


def _session_header(session_id: str | None) -> dict[str, str] | None:
    """A digest: names of rooms may hold what a header may not, and are nobody's business."""
    if session_id is None:
        return None
    return {SESSION_HEADER: hashlib.sha256(session_id.encode()).hexdigest()[:32]}


class LLMStream(openai.LLMStream):
    """One answer, watched while it comes."""

    _deadline: asyncio.Timeout | None = None

    def __init__(self, owner: LLM, /, *, priority: Priority, **request: Any) -> None:
        self._priority = priority
        super().__init__(owner, **request)

    async def _run(self) -> None:
        outcome: Outcome = "failed"
        try:
            await self._answer()
            outcome = "completed"
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            observe_end(self._priority, outcome)

    async def _answer(self) -> None:
        timeout_s = self._conn_options.timeout
        try:
            async with asyncio.timeout(timeout_s) as self._deadline:
                await super()._run()
        except TimeoutError:
            raise APITimeoutError(
                f"no token from the language model for {timeout_s:g} s",
                retryable=not self._event_ch.output_sent,
            ) from None
        finally:
            self._deadline = None
        if self._fnc_name is not None:
            raise APIError(
                "the language model's answer was cut off inside a tool call",
                retryable=not self._event_ch.output_sent,
            )

    def _parse_choice(
        self, id: str, choice: Choice, thinking_filter: ThinkingTokenFilter
    ) -> llm.ChatChunk | None:
        if self._deadline is not None and not self._deadline.expired():
            now = asyncio.get_running_loop().time()
            self._deadline.reschedule(now + self._conn_options.timeout)
        for call in (choice.delta and choice.delta.tool_calls) or ():
            if call.function is None:
                continue
            if call.function.name and not call.id:
                # Several local servers send none, and the base drops such a call without a word.
                call.id = utils.shortuuid("call_")
            elif not call.function.name and self._fnc_name is None:
                raise APIError("the language model sent tool arguments before a tool's name")
        return super()._parse_choice(id, choice, thinking_filter)
