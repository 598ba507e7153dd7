"""The script: a pure function from the messages and the offered tools to one answer.

The server keeps nothing between requests. Every answer replays the call from its messages: each
utterance moves the state one step, each tool result too, and the last step is the answer.
"""

import datetime
from collections.abc import Sequence

from language_server.dialogue import bank
from language_server.dialogue.answers import (
    after_silence,
    answer,
    farewell,
)
from language_server.dialogue.conversation import (
    CallerSaid,
    DeskSaid,
    Event,
    ToolResults,
    read_conversation,
)
from language_server.dialogue.intents import Intent
from language_server.dialogue.results import tell
from language_server.dialogue.speech import fresh
from language_server.dialogue.state import CallState, Desk, Reply
from language_server.dialogue.tasks import (
    ask,
    ask_on,
)
from language_server.dialogue.toolbox import PlannedCall, Toolbox
from language_server.dialogue.turn import hear
from language_server.protocol import Message


class ToolChoiceUnsatisfiable(ValueError):
    """`tool_choice` demands a call for which the conversation holds no arguments."""


def respond(messages: Sequence[Message], toolbox: Toolbox, clock_now: datetime.datetime) -> Reply:
    """The script's next message.

    Args:
        messages: the conversation so far.
        toolbox: the tools that may be called.
        clock_now: local time, for prompts that do not tell it.

    Raises:
        ToolChoiceUnsatisfiable: a call must be made and none can be.
    """
    conversation = read_conversation(messages)
    now = conversation.now or clock_now
    desk = Desk(toolbox, now, conversation.system_prompt)
    # The past was lived with every tool; `tool_choice` limits only the answer of this request.
    past = Desk(toolbox.unrestricted(), now, conversation.system_prompt)
    state = CallState()
    reply = answer(Intent.GREETING, state, desk)
    spoken_with_call = False
    for index, event in enumerate(conversation.events):
        if isinstance(event, DeskSaid):
            state.last_spoken, spoken_with_call = event.text.strip(), True
            continue
        newest = index == len(conversation.events) - 1
        reply = _step(event, state, desk if newest else past, spoken_with_call)
        spoken_with_call = spoken_with_call and isinstance(event, ToolResults)
    if conversation.events and isinstance(conversation.events[-1], DeskSaid):
        # all was answered: no step may be taken twice
        reply = bank.go_on(state, desk) if desk.toolbox.is_bank else ask_on(state, "")
    if conversation.instruction:
        reply = _follow(conversation.instruction, reply, state, desk)
    if toolbox.must_call and not reply.calls:
        return Reply(calls=(_forced_call(state, toolbox),))
    return Reply(fresh(reply.text, state.last_spoken), reply.calls)


def _forced_call(state: CallState, toolbox: Toolbox) -> PlannedCall:
    """A call that `tool_choice` demands, made of what the caller has said so far."""
    known = {
        "name": state.name,
        "day": state.day.isoformat() if state.day else None,
        "time": f"{state.time:%H:%M}" if state.time else None,
        "reason": state.reason,
        "part_of_day": state.part_of_day,
        "appointment_id": state.target.id if state.target else None,
    }
    for tool in sorted(toolbox.callable_names):
        if call := toolbox.call(tool, **known):
            return call
    raise ToolChoiceUnsatisfiable(
        "tool_choice demands a call, but the caller has not said what its arguments need; "
        "this script does not invent them"
    )


def _step(event: Event, state: CallState, desk: Desk, spoken_with_call: bool) -> Reply:
    if isinstance(event, ToolResults):
        return _tell_all(event, state, desk, spoken_with_call)
    if isinstance(event, CallerSaid):
        listen = bank.hear if desk.toolbox.is_bank else hear
        return listen(event.text, state, desk)
    return Reply()


def _follow(instruction: str, reply: Reply, state: CallState, desk: Desk) -> Reply:
    """A system message at the end asks for something now. A script knows two such requests."""
    words = instruction.lower()
    if "goodbye" in words or "farewell" in words:
        return Reply(farewell(state, desk).text)
    if "still there" in words or "silent" in words or "silence" in words:
        return after_silence(state)
    return reply


def _tell_all(event: ToolResults, state: CallState, desk: Desk, said_before: bool) -> Reply:
    if desk.toolbox.is_bank:
        return bank.tell(event.results, state, desk, said_before)
    pending = state.question
    replies = [tell(result, state, desk, said_before) for result in event.results]
    # What ends in a question is said last.
    texts = sorted((reply.text for reply in replies if reply.text), key=lambda t: t.endswith("?"))
    text = " ".join(texts)
    calls = tuple(call for reply in replies for call in reply.calls)
    if state.task and pending and state.question is pending and not calls:
        # A question of ours was set aside for the caller's; take it up again.
        text = ask(state, pending, text).text
    return Reply(text, calls if desk.toolbox.parallel else calls[:1])
