"""One answer in OpenAI's shapes: cut to its limits, whole or as a stream of chunks."""

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from language_server.dialogue.state import Reply
from language_server.protocol import (
    MODEL_ID,
    SYSTEM_FINGERPRINT,
    ChatRequest,
    NamedToolChoice,
    Usage,
)
from language_server.tokens import count_tokens, split_pieces

FinishReason = Literal["stop", "tool_calls", "length"]


@dataclass(frozen=True)
class CallPieces:
    """A tool call whose arguments are cut into pieces."""

    id: str
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Completion:
    """A finished answer."""

    content: tuple[str, ...]
    calls: tuple[CallPieces, ...]
    finish_reason: FinishReason
    usage: Usage
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def pieces(self) -> int:
        """Number of tokens of the answer."""
        return self.usage.completion_tokens


def complete(reply: Reply, request: ChatRequest) -> Completion:
    """Apply the request's stops and token limit to a reply, and count."""
    text, stopped = _until_stop(reply.text, request.stops)
    budget = request.token_limit
    content, left, cut = _take(split_pieces(text), budget)
    calls: list[CallPieces] = []
    for call in () if stopped else reply.calls:
        if cut:
            break
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        pieces, left, cut = _take([call.name, *split_pieces(arguments)], left)
        if pieces:
            call_id = f"call_{secrets.token_hex(12)}"
            calls.append(CallPieces(call_id, call.name, tuple(pieces[1:])))
    reason: FinishReason = "tool_calls" if calls else "stop"
    if isinstance(request.tool_choice, NamedToolChoice):
        reason = "stop"  # as OpenAI ends a call that was demanded by name
    written = len(content) + sum(1 + len(call.arguments) for call in calls)
    read = count_tokens(_prompt_texts(request))
    usage = Usage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)
    return Completion(tuple(content), tuple(calls), "length" if cut else reason, usage)


def whole_body(completion: Completion) -> dict[str, Any]:
    """The answer as one object of type `chat.completion`."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(completion.content) or (None if completion.calls else ""),
        "refusal": None,
    }
    if completion.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": "".join(call.arguments)},
            }
            for call in completion.calls
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": completion.finish_reason,
    }
    return {
        **_envelope(completion, "chat.completion"),
        "choices": [choice],
        "usage": completion.usage.model_dump(),
    }


def chunk_bodies(completion: Completion, *, include_usage: bool) -> Iterator[dict[str, Any]]:
    """The answer as objects of type `chat.completion.chunk`, one a token."""
    envelope = _envelope(completion, "chat.completion.chunk")
    if include_usage:
        envelope["usage"] = None

    def chunk(delta: dict[str, Any], reason: FinishReason | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**envelope, "choices": [choice]}

    has_words = bool(completion.content) or not completion.calls
    yield chunk({"role": "assistant", "content": "" if has_words else None})
    for piece in completion.content:
        yield chunk({"content": piece})
    for index, call in enumerate(completion.calls):
        function = {"name": call.name, "arguments": ""}
        opening = {"index": index, "id": call.id, "type": "function", "function": function}
        yield chunk({"tool_calls": [opening]})
        for piece in call.arguments:
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, completion.finish_reason)
    if include_usage:
        yield {**envelope, "choices": [], "usage": completion.usage.model_dump()}


def _envelope(completion: Completion, kind: str) -> dict[str, Any]:
    return {
        "id": completion.id,
        "object": kind,
        "created": completion.created,
        "model": MODEL_ID,
        "system_fingerprint": SYSTEM_FINGERPRINT,
    }


def _until_stop(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text before the first stop, and whether there was one."""
    found = [position for position in (text.find(stop) for stop in stops) if position >= 0]
    return (text[: min(found)], True) if found else (text, False)


def _take(pieces: list[str], budget: int | None) -> tuple[list[str], int | None, bool]:
    """The pieces that fit, what is left of the budget, and whether some did not fit."""
    if budget is None:
        return pieces, None, False
    return pieces[:budget], max(0, budget - len(pieces)), len(pieces) > budget


def _prompt_texts(request: ChatRequest) -> list[str]:
    texts = [message.text for message in request.messages]
    for message in request.messages:
        texts.extend(
            f"{call.function.name} {call.function.arguments}" for call in message.tool_calls or ()
        )
    for tool in request.tools or ():
        texts.append(f"{tool.function.name} {tool.function.description or ''}")
        texts.append(json.dumps(tool.function.parameters))
    return texts
