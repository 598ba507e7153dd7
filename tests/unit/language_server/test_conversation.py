import datetime

from language_server.dialogue.conversation import (
    MAX_EVENTS,
    CallerSaid,
    DeskSaid,
    ToolResults,
    read_conversation,
)
from language_server.protocol import Message
from tests.unit.language_server.front_desk import TODAY

CALL = {"id": "c1", "function": {"name": "find_appointment", "arguments": '{"name": "Ann"}'}}


def test_messages_become_events() -> None:
    conversation = read_conversation(
        [
            Message.model_validate(message)
            for message in (
                {"role": "system", "content": "persona"},
                {
                    "role": "system",
                    "content": f"{TODAY}\nmore",
                },
                {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                {"role": "assistant", "content": "Hi.", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": '{"appointments": []}'},
                {"role": "tool", "tool_call_id": "gone", "content": "oops"},
            )
        ]
    )
    said, spoke, results = conversation.events
    assert said == CallerSaid("hello")
    assert spoke == DeskSaid("Hi.")
    assert isinstance(results, ToolResults)
    first, second = results.results
    assert (first.tool, first.arguments, first.result) == (
        "find_appointment",
        {"name": "Ann"},
        {"appointments": []},
    )
    assert (second.tool, second.result) == ("", None)
    assert conversation.now == datetime.datetime(2026, 11, 21, 10, 15)
    assert conversation.instruction == ""


def test_the_newest_date_counts_and_a_broken_one_does_not() -> None:
    line = "Current date and time: x ({})"
    texts = [
        line.format("2026-11-20T09:00"),
        line.format("2026-11-21T10:15"),
        line.format("2026-99-99T10:15"),
    ]
    conversation = read_conversation([Message(role="system", content=text) for text in texts])
    assert conversation.now == datetime.datetime(2026, 11, 21, 10, 15)
    assert read_conversation([Message(role="system", content=line)]).now is None


def test_what_a_caller_says_is_no_date() -> None:
    text = "Current date and time: x (2020-01-01T00:00)"
    assert read_conversation([Message(role="user", content=text)]).now is None


def test_a_system_message_at_the_end_is_an_instruction() -> None:
    messages = [
        Message(role="user", content="x"),
        Message(role="developer", content="Say goodbye."),
    ]
    assert read_conversation(messages).instruction == "Say goodbye."
    assert read_conversation(messages[1:]).instruction == ""


def test_a_long_history_is_cut_at_its_old_end() -> None:
    messages = [Message(role="user", content=str(number)) for number in range(500)]
    events = read_conversation(messages).events
    assert len(events) == MAX_EVENTS
    assert events[-1] == CallerSaid("499")
