"""What the script knows at one point of a call. Rebuilt from the messages for every request."""

import datetime
from dataclasses import dataclass, field
from enum import StrEnum

from language_server.dialogue.intents import Intent
from language_server.dialogue.toolbox import PlannedCall, Toolbox


class Task(StrEnum):
    """What the caller wants done, until it is done."""

    BOOK = "book"
    FIND = "find"
    MOVE = "move"
    CANCEL = "cancel"
    SLOTS = "slots"


class Question(StrEnum):
    """What the script has asked and the next words may answer."""

    NAME = "name"
    OTHER_NAME = "other_name"
    DAY = "day"
    TIME = "time"
    DAY_AND_TIME = "day_and_time"
    WHICH_APPOINTMENT = "which_appointment"
    CONFIRM_CANCEL = "confirm_cancel"
    CONFIRM_TRANSFER = "confirm_transfer"
    OTHER_DAY = "other_day"
    ANYTHING_ELSE = "anything_else"


@dataclass(frozen=True)
class Appointment:
    """An appointment as a tool told it."""

    id: str
    day: datetime.date
    time: datetime.time
    reason: str | None = None


class BankQuestion(StrEnum):
    """What the bank's script has asked."""

    NUMBER = "number"
    BIRTH_DATE = "birth_date"
    WHICH_MOVEMENT = "which_movement"
    CONFIRM_REPORT = "confirm_report"
    CONFIRM_TRANSFER = "confirm_transfer"
    ANYTHING_ELSE = "anything_else"


@dataclass(frozen=True)
class Movement:
    """A transaction as a tool told it."""

    id: str
    words: str
    """Amount, counterparty and day, ready to be said."""
    counterparty: str


@dataclass
class BankState:
    """What the bank's script knows at one point of a call."""

    question: BankQuestion | None = None
    wish: Intent | None = None
    """What the caller wants, until it is done."""
    account: str | None = None
    number: str | None = None
    birth_date: datetime.date | None = None
    verified: bool = False
    movements: tuple[Movement, ...] = ()
    """Transactions that were named last."""
    target: Movement | None = None
    """The transaction that is to be reported."""


@dataclass(frozen=True)
class Reply:
    """One answer: words, tool calls, or words first and then calls."""

    text: str = ""
    calls: tuple[PlannedCall, ...] = ()


@dataclass
class CallState:
    """The state of one call. Lives only while one request is answered."""

    task: Task | None = None
    question: Question | None = None
    name: str | None = None
    day: datetime.date | None = None
    time: datetime.time | None = None
    reason: str | None = None
    part_of_day: str | None = None
    target: Appointment | None = None
    """The appointment that is talked about."""
    choices: tuple[Appointment, ...] = ()
    """Appointments among which the caller is to choose."""
    slots: tuple[datetime.time, ...] = ()
    """Free times that were named last."""
    slots_day: datetime.date | None = None
    offered_day: datetime.date | None = None
    turns: int = 0
    """Utterances of the caller so far."""
    misses: int = 0
    """Utterances not understood, in a row."""
    last_spoken: str = ""
    """What the caller heard last."""
    bank: BankState = field(default_factory=BankState)
    """Of the bank's script alone."""

    def finish_task(self) -> None:
        """The task is done or dropped; the name stays known."""
        self.task = self.day = self.time = self.reason = self.part_of_day = None
        self.slots_day = self.offered_day = self.question = None
        self.slots = ()
        self.choices = ()


@dataclass(frozen=True)
class Desk:
    """What does not change within one request."""

    toolbox: Toolbox
    now: datetime.datetime
    """Local time of the practice, without a zone."""
    system_prompt: str = ""
