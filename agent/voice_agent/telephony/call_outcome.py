"""How a call of ours went, as the agent tells whoever has placed it."""

from typing import Final

OUTCOME_ATTRIBUTE: Final = "parley.call_outcome"
"""Attribute of the agent's participant; missing where a person has talked with the agent."""
VOICEMAIL: Final = "voicemail"
"""A machine has answered."""
DO_NOT_CALL: Final = "do_not_call"
"""Who answered does not want to be called again."""
