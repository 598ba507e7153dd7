"""Which tools the responder calls, and what it does without them."""

import pytest

from language_server.dialogue.policy import ToolChoiceUnsatisfiable
from language_server.dialogue.toolbox import Toolbox
from tests.unit.language_server.front_desk import BOOK, TOOLS, Call


def test_two_look_ups_at_once() -> None:
    call = Call()
    call.say(BOOK)
    both = call.say("What are your opening hours, and when is my appointment?")
    assert "We are open" in both
    assert "three thirty p.m." in both


def test_parallel_calls_can_be_forbidden() -> None:
    call = Call()
    call.say(BOOK)
    call.messages.append(
        {"role": "user", "content": "What are your opening hours, and when is my appointment?"}
    )
    reply = call.reply(Toolbox(TOOLS, frozenset(TOOLS), parallel=False))
    assert len(reply.calls) == 1


def test_goodbye_comes_before_the_hang_up_and_only_once() -> None:
    call = Call()
    call.messages.append({"role": "user", "content": "Goodbye."})
    reply = call.reply()
    assert "oodbye" in reply.text
    assert [planned.name for planned in reply.calls] == ["end_call"]
    assert call.say("Goodbye.").count("oodbye") == 1


def test_a_hang_up_without_words_gets_a_word() -> None:
    call = Call()
    function = {"name": "end_call", "arguments": "{}"}
    call.messages += [
        {"role": "user", "content": "Goodbye."},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "{}"},
    ]
    assert call.reply().text == "Goodbye."


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    call = Call(tools={"opening_hours": TOOLS["opening_hours"]})
    assert "can not book" in call.say(BOOK)
    assert "can not cancel" in call.say("Cancel my appointment")
    assert "opening hours" in call.say("What can you do?")
    assert "Goodbye" in call.say("Goodbye")
    assert call.calls == []


def test_tool_choice_none_leaves_words() -> None:
    call = Call()
    call.messages.append({"role": "user", "content": BOOK})
    reply = call.reply(Toolbox(TOOLS, frozenset()))
    assert reply.calls == ()
    assert reply.text


def test_a_demanded_call_is_made_from_what_was_said() -> None:
    call = Call()
    call.messages.append({"role": "user", "content": BOOK})
    only_find = Toolbox(TOOLS, frozenset({"find_appointment"}), must_call=True)
    with pytest.raises(ToolChoiceUnsatisfiable):
        Call().reply(only_find)
    reply = call.reply(Toolbox(TOOLS, frozenset({"opening_hours"}), must_call=True))
    assert [planned.name for planned in reply.calls] == ["opening_hours"]


def test_another_persona_is_told_how_to_connect_a_model() -> None:
    call = Call(tools={"get_weather": {"type": "object", "properties": {}}})
    first, second = call.say("What is the weather?"), call.say("What is the weather?")
    assert "PARLEY_LLM_URL" in first
    assert first != second
    assert call.calls == []


def test_nothing_is_done_twice_when_all_was_answered() -> None:
    call = Call()
    call.say(BOOK)
    reply = call.reply()
    assert reply.calls == ()
    assert reply.text
