"""The keys that come into a room, given to whoever listens to that participant at the moment."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from livekit import rtc

from voice_agent.telephony.keys import KEYS, WINDOW_S, KeyRate

logger = logging.getLogger(__name__)

_EVENT: Final = "sip_dtmf_received"
_MAX_SENDERS: Final = 16
"""Participants whose rate is kept; a call has two."""

OnKey = Callable[[str], None]


class KeyLine:
    """Hands every key of a room to one listener. A key is never logged: it may be of a card.

    Args:
        room: The room of the call.
    """

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._listeners: dict[str, list[OnKey]] = {}
        self._rates: dict[str, KeyRate] = {}
        self._dropped_at: float | None = None

    def open(self) -> None:
        """Begin to listen."""
        self._room.on(_EVENT, self._on_key)

    def close(self) -> None:
        """Stop listening."""
        self._room.off(_EVENT, self._on_key)

    @contextmanager
    def listening(self, identity: str, on_key: OnKey) -> Iterator[None]:
        """Give a participant's keys to this listener alone; the one before gets them back after.

        Args:
            identity: Of the participant.
            on_key: Told each key: one of 0-9, *, #, A-D.
        """
        listeners = self._listeners.setdefault(identity, [])
        listeners.append(on_key)
        try:
            yield
        finally:
            listeners.remove(on_key)

    def _on_key(self, event: rtc.SipDTMF) -> None:
        sender = event.participant
        listeners = self._listeners.get(sender.identity) if sender is not None else None
        if sender is None or not listeners or len(event.digit) != 1 or event.digit not in KEYS:
            return
        if sender.identity not in self._rates and len(self._rates) == _MAX_SENDERS:
            return
        now = asyncio.get_running_loop().time()
        if self._rates.setdefault(sender.identity, KeyRate()).admit(now):
            listeners[-1](event.digit)
        elif self._dropped_at is None or now - self._dropped_at > WINDOW_S:
            self._dropped_at = now
            logger.warning("keys come too fast, some are dropped")
