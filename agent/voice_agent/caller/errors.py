"""What can go wrong with a scripted call, each with a code for the report and an exit status.

CallerError
├── BadInput          exit 2: refused before anything was sent
└── CallFailed        exit 1: with a `CallFailure` code
"""

from enum import StrEnum


class CallFailure(StrEnum):
    """Why a call did not do what was asked; the `code` of an error in the JSON report."""

    BAD_INPUT = "bad_input"
    UNREACHABLE = "unreachable"
    TOKEN_REFUSED = "token_refused"
    CONNECT_FAILED = "connect_failed"
    NO_AGENT = "no_agent"
    NO_GREETING = "no_greeting"
    NO_ANSWER = "no_answer"
    ANSWER_TOO_LONG = "answer_too_long"
    AGENT_LEFT = "agent_left"
    CONNECTION_LOST = "connection_lost"


class CallerError(Exception):
    """Base of this package's errors; the message is meant for the person at the terminal."""

    exit_status = 1

    def __init__(self, code: CallFailure, message: str, *, turn: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.turn = turn
        """1-based turn in which it happened; None outside the turns."""


class BadInput(CallerError):
    """A file or an option cannot be used; nothing was sent."""

    exit_status = 2

    def __init__(self, message: str) -> None:
        super().__init__(CallFailure.BAD_INPUT, message)


class CallFailed(CallerError):
    """The call was tried and did not get what it needed."""
