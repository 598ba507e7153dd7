"""What a caller keys in to be put through, and what the desk's model makes of it."""

import time

from tests.scripted_model import TOOL_RESULT, Script, ToolCall
from tests.softphone import Softphone

SUMMARY = "Peter would like to buy a green bicycle."
GOES_ON = "Shall we call you back?"
SCRIPT: Script = {
    "keys: 7": ToolCall("transfer_call", {"destination": "accounts"}),
    "keys: 8": ToolCall("transfer_call", {"destination": "sales", "summary": SUMMARY}),
    TOOL_RESULT: GOES_ON,
}
COLD, WARM = "7#", "8#"


async def begin_transfer(caller: Softphone, keys: str) -> tuple[float, int]:
    """Ask for a transfer, and hear its first sound.

    Returns:
        When the last key was pressed, on the clock of `time.monotonic`, and how many samples had
        been heard by that sound.
    """
    await caller.press(keys[:-1])
    due, asked_s = caller.heard().size, time.monotonic()
    await caller.press(keys[-1], gap_s=0)
    await caller.until_audible(due)
    return asked_s, caller.heard().size
