"""How urgent a request to the language model is: who goes first where there is not room for all."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum

from livekit.agents.voice.agent_activity import _SpeechHandleContextVar


class Priority(IntEnum):
    """vLLM's `priority`: lower goes first. The values are those of our language server."""

    COMMITTED = 0
    """A turn that the caller waits for."""
    SPECULATIVE = 10
    """An answer to what the caller may not have finished saying."""
    BACKGROUND = 20
    """Work that nobody waits for: a summary, a warm prefix."""


_chosen: ContextVar[Priority] = ContextVar("language_model_priority")


@contextmanager
def requests_at(priority: Priority) -> Iterator[None]:
    """Give every request made in the block, and by tasks started in it, this priority."""
    token = _chosen.set(priority)
    try:
        yield
    finally:
        _chosen.reset(token)


def current_priority() -> Priority:
    """The priority of a request made now.

    What `requests_at` says; else speculative while the framework prepares an answer that it has not
    decided to speak yet (it says so in no public place), else committed.
    Source: livekit-agents 1.8.9, voice/agent_activity.py, `on_preemptive_generation`.
    """
    chosen = _chosen.get(None)
    if chosen is not None:
        return chosen
    speech = _SpeechHandleContextVar.get(None)
    if speech is not None and not speech.scheduled:
        return Priority.SPECULATIVE
    return Priority.COMMITTED
