"""The steps of booking, looking up, moving and cancelling: ask for what lacks, else call a tool."""

import datetime

from language_server.dialogue.speech import join, sentence, speak_moment, vary
from language_server.dialogue.state import Appointment, CallState, Desk, Question, Reply, Task
from language_server.dialogue.toolbox import PlannedCall

_ACTIONS = {
    "opening_hours": "tell you the opening hours",
    "find_free_slots": "look for free times",
    "book_appointment": "book an appointment",
    "find_appointment": "look up an appointment",
    "move_appointment": "move an appointment",
    "cancel_appointment": "cancel an appointment",
    "transfer_to_human": "hand you over to a colleague",
}
_ASKING = {
    Question.NAME: (
        "May I have your name, please?",
        "Under which name, please?",
        "And your name, please?",
    ),
    Question.OTHER_NAME: (
        "Could it be under another name?",
        "Under which other name may I look?",
        "What other name could it be?",
    ),
    Question.DAY: ("Which day would suit you?", "On which day, please?", "What day is good?"),
    Question.TIME: ("What time would suit you?", "At what time, please?", "Which time is good?"),
    Question.DAY_AND_TIME: (
        "Which day and time would suit you?",
        "On what day, and at what time?",
        "When would you like to come?",
    ),
    Question.WHICH_APPOINTMENT: ("Which one do you mean?", "Which of them, please?"),
    Question.CONFIRM_CANCEL: ("Shall I cancel it?", "Do you want me to cancel it, yes or no?"),
    Question.CONFIRM_TRANSFER: (
        "Shall I hand you over to a colleague?",
        "Would you like to speak to a colleague?",
    ),
    Question.OTHER_DAY: ("Shall I look there?", "Shall I look at that day for you?"),
    Question.ANYTHING_ELSE: (
        "Can I do anything else for you?",
        "Is there anything else?",
        "What else can I do for you?",
    ),
}


def ask(state: CallState, question: Question, before: str = "") -> Reply:
    """Ask a question, after some words where there are any, and remember that it was asked."""
    state.question = question
    return Reply(f"{before} {vary(_ASKING[question], state.last_spoken)}".strip())


def ask_on(state: CallState, before: str) -> Reply:
    """After an aside, take up our open question again, or ask what else there is."""
    if state.task and state.question:
        return ask(state, state.question, before)
    return ask(state, Question.ANYTHING_ELSE, before)


def actions(desk: Desk) -> list[str]:
    """What the offered tools allow, as phrases that follow "I can"."""
    return [phrase for tool, phrase in _ACTIONS.items() if desk.toolbox.offers(tool)]


def refuse(state: CallState, desk: Desk, tool: str) -> Reply:
    """Say that a tool is missing, and offer a person where one can be had."""
    state.finish_task()
    sorry = f"I am sorry, I can not {_ACTIONS[tool]} at the moment."
    if desk.toolbox.offers("transfer_to_human"):
        return ask(state, Question.CONFIRM_TRANSFER, sorry)
    return ask(state, Question.ANYTHING_ELSE, sorry)


def proceed(state: CallState, desk: Desk) -> Reply:
    """The next step of the task under way."""
    state.question = None
    if state.task is Task.BOOK:
        return _book(state, desk)
    if state.task is Task.SLOTS:
        return _free_slots(state, desk)
    if state.task is Task.FIND:
        return find(state, desk)
    if state.task is Task.MOVE:
        return _move(state, desk)
    if state.task is Task.CANCEL:
        return _cancel(state, desk)
    return ask(state, Question.ANYTHING_ELSE)


def find(state: CallState, desk: Desk) -> Reply:
    """Look the caller's appointments up, once the name is known."""
    if not desk.toolbox.offers("find_appointment"):
        if state.target is not None:
            moment = speak_moment(state.target.day, state.target.time)
            state.finish_task()
            return Reply(sentence(f"Your appointment is on {moment}"))
        return refuse(state, desk, "find_appointment")
    if state.name is None:
        return ask(state, Question.NAME, "Let me look.")
    return _calling(state, desk, desk.toolbox.call("find_appointment", name=state.name))


def choose(state: CallState, day: datetime.date | None, time: datetime.time | None) -> bool:
    """Settle which of several appointments is meant. False when that is still open."""
    fitting = [
        choice
        for choice in state.choices
        if (day is None or choice.day == day) and (time is None or choice.time == time)
    ]
    if len(fitting) != 1 or (day is None and time is None):
        return False
    state.target, state.choices = fitting[0], ()
    return True


def next_weekday(after: datetime.date) -> datetime.date:
    """The first Monday to Friday after a day."""
    return after + datetime.timedelta(
        days=max(1, 7 - after.weekday()) if after.weekday() > 3 else 1
    )


def _book(state: CallState, desk: Desk) -> Reply:
    if not desk.toolbox.offers("book_appointment"):
        return refuse(state, desk, "book_appointment")
    if state.day is None and state.time is None:
        return ask(state, Question.DAY_AND_TIME, "Gladly.")
    if state.day is None:
        return ask(state, Question.DAY, "Gladly.")
    if state.time is None:
        return _offer_times(state, desk)
    if state.name is None:
        return ask(state, Question.NAME)
    call = desk.toolbox.call(
        "book_appointment",
        name=state.name,
        day=state.day.isoformat(),
        time=f"{state.time:%H:%M}",
        reason=state.reason,
    )
    return _calling(state, desk, call, "book_appointment")


def _free_slots(state: CallState, desk: Desk) -> Reply:
    if not desk.toolbox.offers("find_free_slots"):
        return refuse(state, desk, "find_free_slots")
    if state.day is None:
        return ask(state, Question.DAY, "Let me look.")
    call = desk.toolbox.call(
        "find_free_slots", day=state.day.isoformat(), part_of_day=state.part_of_day
    )
    return _calling(state, desk, call, "find_free_slots")


def _offer_times(state: CallState, desk: Desk) -> Reply:
    """A day without a time: name the free times where they can be looked up."""
    known = state.slots_day == state.day and state.slots
    if state.day is None or known or not desk.toolbox.offers("find_free_slots"):
        return ask(state, Question.TIME)
    return _free_slots(state, desk)


def _move(state: CallState, desk: Desk) -> Reply:
    if not desk.toolbox.offers("move_appointment"):
        return refuse(state, desk, "move_appointment")
    if state.target is None:
        return _settle_target(state, desk)
    if state.day is None and state.time is None:
        now = speak_moment(state.target.day, state.target.time)
        return ask(state, Question.DAY_AND_TIME, sentence(f"It is on {now}"))
    state.day = state.day or state.target.day
    if state.time is None:
        return _offer_times(state, desk)
    call = desk.toolbox.call(
        "move_appointment",
        appointment_id=state.target.id or None,
        day=state.day.isoformat(),
        time=f"{state.time:%H:%M}",
    )
    return _calling(state, desk, call, "move_appointment")


def _cancel(state: CallState, desk: Desk) -> Reply:
    if not desk.toolbox.offers("cancel_appointment"):
        return refuse(state, desk, "cancel_appointment")
    if state.target is None:
        return _settle_target(state, desk)
    return confirm_cancel(state, state.target)


def confirm_cancel(state: CallState, target: Appointment) -> Reply:
    """Ask before anything is lost."""
    moment = speak_moment(target.day, target.time)
    return ask(state, Question.CONFIRM_CANCEL, sentence(f"You are booked on {moment}"))


def cancel_target(state: CallState, desk: Desk) -> Reply:
    """The caller has agreed: cancel."""
    if state.target is None:
        return _settle_target(state, desk)
    call = desk.toolbox.call("cancel_appointment", appointment_id=state.target.id or None)
    return _calling(state, desk, call, "cancel_appointment")


def _settle_target(state: CallState, desk: Desk) -> Reply:
    if state.choices:
        listed = join([speak_moment(item.day, item.time) for item in state.choices[:3]])
        return ask(state, Question.WHICH_APPOINTMENT, sentence(f"You have {listed}"))
    return find(state, desk)


def _calling(
    state: CallState, desk: Desk, call: PlannedCall | None, tool: str = "find_appointment"
) -> Reply:
    return Reply(calls=(call,)) if call is not None else refuse(state, desk, tool)
