"""How a call that we made ended, and what follows from that."""

from collections.abc import Mapping
from enum import StrEnum

from livekit import api

from voice_agent.phone.livekit_service import NO_REDIS


class Outcome(StrEnum):
    """How an outgoing call ended."""

    ANSWERED = "answered"
    """A person, or at least something, talked with the agent."""
    VOICEMAIL = "voicemail"
    """The agent found that a machine had answered."""
    DO_NOT_CALL = "do_not_call"
    """Who answered asked not to be called again."""
    BUSY = "busy"
    NO_ANSWER = "no_answer"
    DECLINED = "declined"
    """Who was called, or their telephone for them, rejected the call."""
    NO_SUCH_NUMBER = "no_such_number"
    TRUNK_FAILED = "trunk_failed"
    """The provider, or the way to it, refused: the telephone did not ring."""
    NO_AGENT = "no_agent"
    """It was answered, and no agent came."""
    INTERRUPTED = "interrupted"
    """We stopped in the middle: whether the telephone rang is not known."""


WORDS: Mapping[Outcome, str] = {
    Outcome.ANSWERED: "answered",
    Outcome.VOICEMAIL: "answered by a machine",
    Outcome.DO_NOT_CALL: "asked not to be called again",
    Outcome.BUSY: "busy",
    Outcome.NO_ANSWER: "no answer",
    Outcome.DECLINED: "declined",
    Outcome.NO_SUCH_NUMBER: "no such number",
    Outcome.TRUNK_FAILED: "the provider refused",
    Outcome.NO_AGENT: "answered, but no agent came",
    Outcome.INTERRUPTED: "interrupted",
}
"""Outcome → what is printed."""

RETRYABLE = frozenset({Outcome.BUSY, Outcome.NO_ANSWER, Outcome.TRUNK_FAILED})
"""Nobody was reached, so the same person may be called again."""

_BY_STATUS: Mapping[int, Outcome] = {
    408: Outcome.NO_ANSWER,
    480: Outcome.NO_ANSWER,
    487: Outcome.NO_ANSWER,
    486: Outcome.BUSY,
    600: Outcome.BUSY,
    404: Outcome.NO_SUCH_NUMBER,
    410: Outcome.NO_SUCH_NUMBER,
    484: Outcome.NO_SUCH_NUMBER,
    604: Outcome.NO_SUCH_NUMBER,
    603: Outcome.DECLINED,
    607: Outcome.DECLINED,
    608: Outcome.DECLINED,
}
"""Final SIP status → outcome. Source: RFC 3261 section 21; 607 RFC 8197; 608 RFC 8688."""

_SILENT_PROVIDER = "(0 intermediate responses)"
"""In livekit-sip's error when nothing at all came back. Source: livekit/sip v1.8.0, errors.go."""


def outcome_of(error: api.ServerError) -> tuple[Outcome, int | None] | None:
    """The outcome of a call that LiveKit says failed, and its SIP status where there is one.

    None: LiveKit refused before it called anybody.
    """
    if isinstance(error, api.SipCallError) and error.sip_status_code is not None:
        status = error.sip_status_code
        return _BY_STATUS.get(status, Outcome.TRUNK_FAILED), status
    if error.code == "canceled":
        # the ringing timeout of livekit-sip; it carries no status
        silent = _SILENT_PROVIDER in error.message
        return (Outcome.TRUNK_FAILED if silent else Outcome.NO_ANSWER), None
    if error.code == "failed_precondition":
        # after the INVITE: no codec in common, or media that cannot be set up
        return Outcome.TRUNK_FAILED, None
    if error.code in ("deadline_exceeded", "internal") and NO_REDIS not in error.message:
        return Outcome.INTERRUPTED, None
    return None
