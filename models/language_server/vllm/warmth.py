"""Prompt prefixes that callers want kept in the cache, and when one has to be touched.

vLLM cannot pin a prefix: it evicts what was used longest ago as soon as other prompts need room. So
a prefix is asked for again before as many tokens were computed as would push it out. What counts is
that volume and not time: an idle server evicts nothing and is left alone, and a call that uses the
prefix has touched it.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from language_server.vllm.request import BACKGROUND

TOUCH_SHARE: Final = 0.25
"""Of the cache's tokens that may be computed before a prefix is touched again. What is cached is
evicted after all of them; between the reading of a counter and the touch more go by."""
_PREFIX_FIELDS: Final = ("tools", "chat_template_kwargs", "cache_salt")


class WarmPrefixes:
    """Which prefixes are kept on which copies of the model.

    Args:
        limit: most prefixes; the ones unused for longest go first.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bodies: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._touched_at: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._bodies)

    def see(self, replica: str, body: Mapping[str, Any], computed: float, *, keep: bool) -> None:
        """Take note of a request that a copy of the model is given.

        Args:
            replica: its name.
            body: what vLLM is given; its first message is the prefix where it is a system message.
            computed: tokens that this copy has computed up to now.
            keep: whether the prefix is to be kept from now on.
        """
        prefix = _prefix(body)
        if prefix is None:
            return
        key = hashlib.sha256(json.dumps(prefix, sort_keys=True).encode()).hexdigest()
        if keep and self._limit:
            self._bodies.setdefault(key, prefix)
        if key in self._bodies:
            self._bodies.move_to_end(key)
            self._touched_at[replica, key] = computed
        while len(self._bodies) > self._limit:
            dropped, _ = self._bodies.popitem(last=False)
            self._touched_at = {k: v for k, v in self._touched_at.items() if k[1] != dropped}

    def forget(self, replica: str) -> None:
        """A copy of the model has started anew: nothing is cached there."""
        self._touched_at = {k: v for k, v in self._touched_at.items() if k[0] != replica}

    def due(self, replica: str, computed: float, capacity: float) -> Sequence[dict[str, Any]]:
        """Requests that touch what would be evicted soon; each counts as made.

        Args:
            replica: the copy of the model.
            computed: tokens that it has computed up to now.
            capacity: tokens that its cache holds.
        """
        found = []
        for key, prefix in self._bodies.items():
            touched_at = self._touched_at.get((replica, key))
            if touched_at is None or computed - touched_at >= TOUCH_SHARE * capacity:
                self._touched_at[replica, key] = computed
                found.append(_touching(prefix))
        return found


def _prefix(body: Mapping[str, Any]) -> dict[str, Any] | None:
    first = body["messages"][0]
    if first["role"] != "system":
        return None
    shared = {name: body[name] for name in _PREFIX_FIELDS if name in body}
    return {"model": body["model"], "messages": [first], **shared}


def _touching(prefix: Mapping[str, Any]) -> dict[str, Any]:
    # Some templates refuse a prompt without a user; what follows the prefix is no part of it.
    hello = {"role": "user", "content": "Hello."}
    return {
        **prefix,
        "messages": [*prefix["messages"], hello],
        "max_completion_tokens": 1,
        "priority": BACKGROUND,
    }
