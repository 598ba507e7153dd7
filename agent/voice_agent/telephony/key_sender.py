"""Presses keys for the agent: a bounded row of DTMF tones into the call."""

import asyncio
import re
from typing import Final

from livekit import rtc

from voice_agent.telephony.keys import key_code

MAX_SENT: Final = 24
"""Longest row; an extension or a menu choice is far shorter."""
GAP_S: Final = 0.25
"""From one key to the next, seconds: livekit-sip sends a tone of 250 ms for each.
Source: livekit/media-sdk, dtmf/dtmf.go, eventDur."""
PAUSE_S: Final = 0.5
"""What `w` waits, as in a dialling string, seconds."""

_ROW: Final = re.compile(rf"[0-9*#w]{{1,{MAX_SENT}}}")


def checked_keys(value: str) -> str:
    """A row of keys without the blanks and hyphens that people write.

    Raises:
        ValueError: it holds something else, or is too long.
    """
    row = re.sub(r"[\s-]", "", value)
    if not _ROW.fullmatch(row) or not row.strip("w"):
        raise ValueError(f"must be 1 to {MAX_SENT} of the keys 0-9, *, # (w waits half a second)")
    return row


async def send_keys(room: rtc.Room, row: str) -> None:
    """Press checked keys one after the other.

    Raises:
        livekit.rtc.participant.PublishDTMFError: the room does not take them.
    """
    for key in row:
        if key == "w":
            await asyncio.sleep(PAUSE_S)
            continue
        await room.local_participant.publish_dtmf(code=key_code(key), digit=key)
        await asyncio.sleep(GAP_S)
