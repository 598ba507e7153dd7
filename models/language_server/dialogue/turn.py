"""One utterance of the caller: an answer to what was asked, or a wish of its own."""

import datetime

from language_server.dialogue.answers import (
    after_silence,
    another_persona,
    answer,
    clarify,
    farewell,
    offer_person,
)
from language_server.dialogue.intents import Intent
from language_server.dialogue.state import CallState, Desk, Question, Reply, Task
from language_server.dialogue.tasks import (
    ask,
    cancel_target,
    choose,
    next_weekday,
    proceed,
    refuse,
)
from language_server.dialogue.toolbox import PlannedCall
from language_server.dialogue.understanding import Heard, understand

MAX_GREETING_WORDS = 2
"""A call's first words are a greeting when they are so few, whatever "hello" was heard as."""

_TASKS = {
    Intent.BOOK: Task.BOOK,
    Intent.FIND: Task.FIND,
    Intent.MOVE: Task.MOVE,
    Intent.CANCEL: Task.CANCEL,
    Intent.FREE_SLOTS: Task.SLOTS,
}
_TIME_QUESTIONS = (Question.TIME, Question.DAY_AND_TIME, Question.WHICH_APPOINTMENT)
_SOFT = frozenset(
    {Intent.GREETING, Intent.HOW_ARE_YOU, Intent.THANKS, Intent.YES, Intent.NO, Intent.HOLD_ON,
     Intent.DONT_KNOW, Intent.SMALL_TALK, Intent.ABUSE, Intent.BOOK}
)  # fmt: skip
"""Intents that give way to an answer to our question: "yes, at three", "okay, Tuesday"."""


def hear(text: str, state: CallState, desk: Desk) -> Reply:
    """One utterance: read it, change the state, answer."""
    heard = understand(
        text,
        desk.now.date(),
        name_asked=state.question in (Question.NAME, Question.OTHER_NAME),
        time_asked=state.question in _TIME_QUESTIONS,
    )
    if heard.silent:
        return after_silence(state)
    state.turns += 1
    if not desk.toolbox.is_front_desk:
        return another_persona(heard.intents, state, desk)
    if not heard.intents and not heard.has_details:
        if state.turns == 1 and len(text.split()) <= MAX_GREETING_WORDS:
            return answer(Intent.GREETING, state, desk)
        return clarify(state, desk)
    state.misses = 0
    return _answer_question(heard, state, desk) or _serve(heard, state, desk)


def _answer_question(heard: Heard, state: CallState, desk: Desk) -> Reply | None:
    """Take the words as the answer to what we asked; None when they are none."""
    question, yes, no = state.question, heard.says(Intent.YES), heard.says(Intent.NO)
    if question is None:
        return None
    if question is Question.CONFIRM_CANCEL and _means_another(heard, state):
        state.target = None
        _note(heard, state, desk.now.date())
        return proceed(state, desk)
    if question is Question.CONFIRM_CANCEL and (yes or heard.says(Intent.CANCEL)) and not no:
        return cancel_target(state, desk)
    if question is Question.CONFIRM_CANCEL and no:
        return _declined(question, state, desk)
    if question is Question.CONFIRM_TRANSFER and yes:
        return _transfer(state, desk, "the caller accepted to be handed over")
    if question is Question.OTHER_DAY and yes:
        state.day, state.offered_day = state.offered_day, None
        return proceed(state, desk)
    if question is Question.WHICH_APPOINTMENT and choose(state, heard.day, heard.time):
        return proceed(state, desk)
    courtesy = not heard.has_details and not set(heard.intents) - (_SOFT - {Intent.BOOK})
    if question is Question.ANYTHING_ELSE and set(heard.intents) == {Intent.YES} and courtesy:
        state.question = None
        return Reply("What can I do for you?")
    if no and courtesy:
        return _declined(question, state, desk)
    any_slot = heard.says(Intent.DONT_KNOW) or (yes and len(state.slots) == 1)
    if question is Question.TIME and any_slot and state.slots and heard.time is None:
        state.time = state.slots[0]
        return proceed(state, desk)
    beside = {Intent.GOODBYE} if heard.day or heard.time else set()
    if state.task and heard.has_details and not set(heard.intents) - _SOFT - beside:
        _note(heard, state, desk.now.date())
        return proceed(state, desk)
    return None


def _means_another(heard: Heard, state: CallState) -> bool:
    """Whether the caller names another appointment than the one that we ask about."""
    target = state.target
    return target is not None and (
        heard.day not in (None, target.day) or heard.time not in (None, target.time)
    )


def _declined(question: Question, state: CallState, desk: Desk) -> Reply:
    if question is Question.ANYTHING_ELSE:
        return farewell(state, desk)
    if question is Question.CONFIRM_TRANSFER and state.task:
        return proceed(state, desk)
    kept = "All right, it stays as it is." if question is Question.CONFIRM_CANCEL else "All right."
    state.finish_task()
    return ask(state, Question.ANYTHING_ELSE, kept)


def _serve(heard: Heard, state: CallState, desk: Desk) -> Reply:
    """Serve the most important wish; look up a second one beside it where that is possible."""
    wishes = [intent for intent in heard.intents if intent not in (Intent.YES, Intent.NO)]
    if not wishes:
        return _serve_details(heard, state, desk)
    if wishes[0] in _SOFT - {Intent.BOOK} and heard.has_details and wishes[0] is not Intent.ABUSE:
        return _serve_details(heard, state, desk)
    reply = _serve_one(wishes[0], heard, state, desk)
    lookups = {Intent.OPENING_HOURS, Intent.FIND}
    if set(wishes[:2]) == lookups and desk.toolbox.parallel and reply.calls:
        second = _serve_one(wishes[1], heard, state, desk)
        return Reply("", (*reply.calls, *second.calls)) if second.calls else reply
    return reply


def _serve_one(intent: Intent, heard: Heard, state: CallState, desk: Desk) -> Reply:
    if intent is Intent.GOODBYE:
        return farewell(state, desk)
    if intent is Intent.HUMAN:
        return _transfer(state, desk, "the caller asked for a person")
    if intent is Intent.EMERGENCY:
        return _emergency(state, desk)
    if intent is Intent.REPEAT:
        return Reply(state.last_spoken or "I did not say anything yet. How can I help you?")
    if intent is Intent.OPENING_HOURS:
        return _opening_hours(heard, state, desk)
    if intent in _TASKS:
        return _begin(_TASKS[intent], heard, state, desk)
    if heard.name:
        state.name = heard.name
    reply = answer(intent, state, desk)
    if state.task and state.question and "?" not in reply.text and intent is not Intent.HOLD_ON:
        return ask(state, state.question, reply.text)
    return reply


def _begin(task: Task, heard: Heard, state: CallState, desk: Desk) -> Reply:
    if task is Task.SLOTS and state.task in (Task.BOOK, Task.MOVE):
        # The caller looks for a time for what is under way.
        _note(heard, state, desk.now.date())
        return _look_for_slots(state, desk)
    if task is not state.task:
        state.finish_task()
        state.task = task
        if task in (Task.MOVE, Task.CANCEL) and heard.name and heard.name != state.name:
            state.target = None
    _note(heard, state, desk.now.date())
    if task is Task.SLOTS:
        return _look_for_slots(state, desk)
    return proceed(state, desk)


def _look_for_slots(state: CallState, desk: Desk) -> Reply:
    task, state.task = state.task, Task.SLOTS
    reply = proceed(state, desk)
    if state.task is Task.SLOTS and task in (Task.BOOK, Task.MOVE):
        state.task = task
    return reply


def _serve_details(heard: Heard, state: CallState, desk: Desk) -> Reply:
    """A day, a time or a name with no wish: part of the task, or the beginning of a booking."""
    had_name = state.name
    task_before, corrected = state.task, heard.says(Intent.NO) and state.target is not None
    if heard.day or heard.time or heard.earliest:
        if corrected and task_before is None:
            return _begin(Task.MOVE, heard, state, desk)
        return _begin(task_before or Task.BOOK, heard, state, desk)
    if task_before is not None and heard.has_details:
        _note(heard, state, desk.now.date())
        return proceed(state, desk)
    if heard.name and state.target is not None and had_name not in (None, heard.name):
        return offer_person(state, desk, f"I have you down as {had_name}, and can not change that.")
    if heard.name:
        state.name = heard.name
        if had_name != heard.name:
            return ask(state, Question.ANYTHING_ELSE, f"Thank you, {heard.name}.")
    if heard.reason:
        return _begin(Task.BOOK, heard, state, desk)
    return _serve_courtesy(heard, state, desk)


def _serve_courtesy(heard: Heard, state: CallState, desk: Desk) -> Reply:
    """A bare yes or no that answers nothing, or a word of courtesy."""
    soft = [intent for intent in heard.intents if intent not in (Intent.YES, Intent.NO)]
    if soft:
        return answer(soft[0], state, desk)
    if state.task and state.question:
        return ask(state, state.question, "Sorry.")
    return ask(state, Question.ANYTHING_ELSE, "All right.")


def _opening_hours(heard: Heard, state: CallState, desk: Desk) -> Reply:
    day = heard.day.isoformat() if heard.day else None
    call = desk.toolbox.call("opening_hours", day=day)
    if call is not None:
        return Reply(calls=(call,))
    return answer(Intent.OPENING_HOURS, state, desk)


def _transfer(state: CallState, desk: Desk, reason: str) -> Reply:
    call: PlannedCall | None = desk.toolbox.call("transfer_to_human", reason=reason)
    if call is None:
        return refuse(state, desk, "transfer_to_human")
    state.finish_task()
    return Reply(calls=(call,))


def _emergency(state: CallState, desk: Desk) -> Reply:
    state.finish_task()
    advice = "If it is life-threatening, please hang up and dial the emergency number."
    return offer_person(state, desk, advice)


def _note(heard: Heard, state: CallState, today: datetime.date) -> None:
    """Keep what the utterance carried."""
    state.day = heard.day or state.day
    state.time = heard.time or state.time
    state.name = heard.name or state.name
    state.reason = heard.reason or state.reason
    state.part_of_day = heard.part_of_day or state.part_of_day
    if heard.earliest and state.day is None:
        state.day = next_weekday(today)
