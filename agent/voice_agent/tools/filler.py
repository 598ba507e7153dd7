"""A few words while a tool takes long, so that the caller does not take it for a dead line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from livekit.agents import RunContext
from livekit.agents.voice import SpeechHandle

FILLER_DELAY_S = 0.8
"""Silence of both sides before the words are said. Most look-ups take a hundredth of it."""


@asynccontextmanager
async def filler_while_waiting(
    words: str | None, run_context: RunContext, said_in: set[str]
) -> AsyncIterator[None]:
    """Say the words when the body takes long; not when it ends first, or the caller speaks.

    Args:
        words: What to say; None: nothing.
        run_context: Of the tool call.
        said_in: Ids of the turns that have heard the words; a turn hears them once, however many
            tools it waits for.
    """
    if words is None:
        yield
        return

    def speak(_: int) -> SpeechHandle | None:
        turn = run_context.speech_handle.id
        if turn in said_in:
            return None
        said_in.add(turn)
        # not for the model: between a call and its result there is no place for a message
        return run_context.session.say(words, add_to_chat_ctx=False)

    async with run_context.with_filler(speak, delay=FILLER_DELAY_S):
        yield
