"""One question to an OpenAI-compatible server, and when its tokens came."""

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import aiohttp

KEEP_PREFIX: Final = {"X-Parley-Keep-Prefix": "1"}
"""Asks our server to keep the prefix in its cache; others ignore it."""


class NotAnswered(RuntimeError):
    """The server did not answer what a measurement needs."""


@dataclass(frozen=True, slots=True)
class Answer:
    """When the tokens of one answer came."""

    ttft_s: float
    gaps_s: tuple[float, ...]
    """Times between two pieces of the answer."""
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int

    @property
    def cached_share(self) -> float:
        """Of the prompt's tokens."""
        return self.cached_tokens / self.prompt_tokens


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one model of one server."""

    session: aiohttp.ClientSession
    model: str
    is_ours: bool
    """Whether fields of vLLM may be sent, that make every answer as long as it may be."""

    async def ask(
        self,
        system: str,
        said: str,
        answer_tokens: int,
        *,
        session_id: str = "bench",
        keep: bool = False,
    ) -> Answer:
        """Ask once.

        Args:
            system: the prompt's prefix.
            said: what the caller says.
            answer_tokens: longest answer.
            session_id: which call it belongs to.
            keep: whether our server is to keep the prefix in its cache.

        Raises:
            NotAnswered: refused, or without a token, or without its usage.
        """
        headers = {"X-Session-ID": session_id, **(KEEP_PREFIX if keep else {})}
        asked_at_s = time.perf_counter()
        times: list[float] = []
        usage: Mapping[str, Any] = {}
        body = self._body(system, said, answer_tokens)
        async with self.session.post("chat/completions", json=body, headers=headers) as answer:
            async for chunk in _chunks(answer):
                came_at_s = time.perf_counter()
                usage = chunk.get("usage") or usage
                if _has_token(chunk):
                    times.append(came_at_s)
        if not times or not usage:
            raise NotAnswered("the server sent no token, or no usage at the end of the stream")
        details = usage.get("prompt_tokens_details") or {}
        return Answer(
            ttft_s=times[0] - asked_at_s,
            gaps_s=tuple(later - earlier for earlier, later in pairwise(times)),
            prompt_tokens=usage["prompt_tokens"],
            cached_tokens=details.get("cached_tokens") or 0,
            completion_tokens=usage["completion_tokens"],
        )

    async def leave(self, system: str, said: str, answer_tokens: int, pieces: int) -> int:
        """Ask, and hang up in the middle of the answer.

        Args:
            system: the prompt's prefix.
            said: what the caller says.
            answer_tokens: longest answer.
            pieces: of the answer that are taken.

        Returns:
            The pieces taken; fewer where the answer was shorter.

        Raises:
            NotAnswered: refused.
        """
        body = self._body(system, said, answer_tokens)
        taken = 0
        async with self.session.post("chat/completions", json=body) as answer:
            async with aclosing(_chunks(answer)) as chunks:
                async for chunk in chunks:
                    taken += _has_token(chunk)
                    if taken == pieces:
                        break
            answer.close()
        return taken

    def _body(self, system: str, said: str, answer_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": said},
            ],
            "max_tokens": answer_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.is_ours:
            body |= {"ignore_eos": True, "min_tokens": answer_tokens}
        return body


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    if answer.status != 200:
        raise NotAnswered(f"HTTP {answer.status}: {(await answer.text())[:300]}")
    async for line in answer.content:
        data = line.strip().removeprefix(b"data: ")
        if not data.startswith(b"{"):
            continue
        chunk: dict[str, Any] = json.loads(data)
        if "error" in chunk:
            raise NotAnswered(str(chunk["error"])[:300])
        yield chunk


def _has_token(chunk: Mapping[str, Any]) -> bool:
    return any(_is_token(choice) for choice in chunk.get("choices", ()))


def _is_token(choice: Mapping[str, Any]) -> bool:
    """Whether a piece of an answer holds a part of it; the first one often holds only a role."""
    delta = choice.get("delta") or {}
    return bool(delta.get("content") or delta.get("reasoning_content") or delta.get("tool_calls"))
