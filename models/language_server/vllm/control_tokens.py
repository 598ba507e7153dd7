"""Keeps what people say, and what tools return, from being read as the conversation's own marks.

A chat template writes roles and turns with control tokens (`<|im_start|>`), and a tokenizer takes
the same characters inside a message for the same tokens: whoever types them could speak as the
system. Here they are broken up, so that the model reads them as the text that they are.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any


class ControlTokens:
    """The control tokens of one model.

    Args:
        tokens: as they are written.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        # A token of one character could not be broken up.
        written = sorted({token for token in tokens if len(token) > 1}, key=len, reverse=True)
        self._found = re.compile("|".join(map(re.escape, written))) if written else None

    def broken_up(self, text: str) -> str:
        """The text with a space inside every control token."""
        if self._found is None:
            return text
        return self._found.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def without(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A message in whose texts none is left.

        Args:
            message: of a chat completions request.
        """
        clean = dict(message)
        content = message.get("content")
        if isinstance(content, str):
            clean["content"] = self.broken_up(content)
        elif isinstance(content, list):
            clean["content"] = [part | {"text": self.broken_up(part["text"])} for part in content]
        if calls := message.get("tool_calls"):
            clean["tool_calls"] = [self._call_without(call) for call in calls]
        return clean

    def _call_without(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = call["function"]
        arguments = self.broken_up(function["arguments"])
        return {**call, "function": {**function, "arguments": arguments}}
