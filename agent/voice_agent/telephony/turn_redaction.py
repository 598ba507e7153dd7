"""Takes card numbers out of a conversation, the turn that has just ended and those before it."""

from typing import Final

from livekit.agents import llm

from voice_agent.telephony.redaction import redact, redact_all

LOOK_BACK: Final = 4
"""Earlier turns of the caller in which a number may have begun."""


def redact_turn(context: llm.ChatContext, message: llm.ChatMessage) -> None:
    """Redact a caller's message, and their turns before it, in place.

    Args:
        context: The conversation without the message; its items are those of the session.
        message: The caller's turn, before a model or a store has it.
    """
    before = [
        item
        for item in context.items
        if isinstance(item, llm.ChatMessage) and item.role == "user" and item.text_content
    ][-LOOK_BACK:]
    turns = [*before, message]
    said = [turn.text_content or "" for turn in turns]
    # what was misheard, in this turn alone: in two turns a caller says two numbers
    redacted_turns = redact_all([*said[:-1], redact(said[-1], heard=True)])
    for turn, text, redacted in zip(turns, said, redacted_turns, strict=True):
        if redacted != text:
            turn.content = [redacted]
