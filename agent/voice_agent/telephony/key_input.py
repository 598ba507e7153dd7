"""A caller's keys as turns of the conversation: entry by entry, or what a menu says they mean."""

import asyncio
from collections.abc import Callable

from voice_agent.telephony.keys import KeyEntry
from voice_agent.telephony.phone_spec import KeySpec
from voice_agent.telephony.redaction import redact


class KeyInput:
    """Reads keys for the conversation.

    Args:
        spec: The persona's menu, and how an entry ends.
        on_begin: Told the first key of an entry has come: the caller wants the floor.
        on_entry: Told what the entry says, as text of the caller's.
    """

    def __init__(
        self, spec: KeySpec, on_begin: Callable[[], None], on_entry: Callable[[str], None]
    ) -> None:
        self._spec = spec
        self._on_begin = on_begin
        self._on_entry = on_entry
        self._entry = KeyEntry(spec.length)
        self._pause: asyncio.TimerHandle | None = None

    def press(self, key: str) -> None:
        """Take a key."""
        self._stop_waiting()
        if not self._entry.begun:
            self._on_begin()
        entry = self._entry.add(key)
        if entry is not None:
            self._tell(entry)
        elif self._entry.begun:
            loop = asyncio.get_running_loop()
            self._pause = loop.call_later(self._spec.pause_s, self._on_pause)

    def drop(self) -> None:
        """Forget what was begun."""
        self._stop_waiting()
        self._entry.end()

    def _on_pause(self) -> None:
        self._pause = None
        entry = self._entry.end()
        if entry is not None:
            self._tell(entry)

    def _tell(self, entry: str) -> None:
        meant = self._spec.menu.get(entry)
        # a card number keyed in unasked goes no further than this
        self._on_entry(meant if meant is not None else f"keys: {redact(entry)}")

    def _stop_waiting(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
