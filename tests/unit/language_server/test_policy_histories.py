"""Any history that a client may send gets a valid answer."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from language_server.dialogue.policy import respond
from language_server.dialogue.toolbox import Toolbox
from language_server.protocol import Message
from tests.unit.language_server.front_desk import BOOK, CLOCK, GREETING, TOOLS, Call


def test_an_interrupted_answer_changes_nothing() -> None:
    call = Call()
    call.messages += [
        {"role": "user", "content": "I would like to book an appointment on Tuesday"},
        {"role": "assistant", "content": "On Tues"},
        {"role": "user", "content": "at half past three"},
        {"role": "user", "content": "my name is Peter Miller"},
    ]
    reply = call.reply()
    assert reply.calls[0].name == "book_appointment"
    assert reply.calls[0].arguments["time"] == "15:30"


def test_no_caller_yet_is_greeted() -> None:
    assert "Hello" in respond([Message(role="system", content="x")], Toolbox(), CLOCK).text


@pytest.mark.parametrize(
    ("instruction", "word"),
    [("Ask whether the caller is still there.", "?"), ("Say goodbye.", "oodbye")],
)
def test_an_instruction_at_the_end(instruction: str, word: str) -> None:
    call = Call()
    call.say("Hello")
    call.messages.append({"role": "system", "content": instruction})
    assert word in call.reply().text


def test_without_a_date_the_clock_counts() -> None:
    messages = [Message(role="user", content=BOOK)]
    reply = respond(messages, Toolbox(TOOLS, frozenset(TOOLS)), CLOCK)
    assert reply.calls[0].arguments["day"] == "2000-01-04"


TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            BOOK, "yes", "no", "cancel my appointment", "move it to friday at ten", "Peter Miller",
            "three thirty", "on Tuesday", "when is my appointment", "goodbye", "thanks",
            "any time is fine", "what do you have free tomorrow", "as soon as possible", "hello",
            "the one on Wednesday", "opening hours", "repeat that", "I want a person", GREETING,
        ]
    ),
)  # fmt: skip

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)

KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "error": st.one_of(st.text(max_size=20), JSON),
        "alternatives": st.one_of(st.just(["15:00", "16:00"]), JSON),
        "next_open_day": st.one_of(st.just("2026-11-23"), JSON),
        "appointments": st.one_of(
            st.lists(
                st.fixed_dictionaries(
                    {
                        "appointment_id": st.one_of(st.text(max_size=4), JSON),
                        "day": st.one_of(st.just("2026-11-25"), st.just("2026-11-24"), JSON),
                        "time": st.one_of(st.just("09:00"), JSON),
                    }
                ),
                max_size=3,
            ),
            JSON,
        ),
        "day": st.one_of(st.just("2026-11-24"), JSON),
        "time": st.one_of(st.just("15:30"), JSON),
        "slots": st.one_of(st.just(["09:00", "25:00"]), JSON),
        "hours": st.one_of(st.just([{"day": "Monday", "open": "08:00", "close": "x"}]), JSON),
        "closed": JSON,
        "status": JSON,
        "name": JSON,
        "reason": JSON,
        "appointment_id": JSON,
    },
)

RESULTS = st.one_of(
    st.text(max_size=30), JSON.map(json.dumps), KNOWN.map(json.dumps), st.just("[" * 5000)
)


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 8))):
        role = draw(st.sampled_from(["user", "user", "assistant", "system", "tool", "developer"]))
        if role != "tool":
            messages.append({"role": role, "content": draw(TEXTS)})
            continue
        tool = draw(st.sampled_from([*TOOLS, "unknown"]))
        arguments = draw(st.one_of(st.text(max_size=20), KNOWN.map(json.dumps)))
        function = {"name": tool, "arguments": arguments}
        call_id = f"c{number}"
        if draw(st.booleans()):
            messages.append(
                {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}
            )
        messages.append({"role": "tool", "tool_call_id": call_id, "content": draw(RESULTS)})
    return messages


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.sets(st.sampled_from(sorted(TOOLS))), st.booleans(), st.booleans())
def test_any_history_gets_a_valid_answer(
    messages: list[dict[str, Any]], offered: set[str], callable_: bool, parallel: bool
) -> None:
    parsed = [Message.model_validate(message) for message in messages]
    schemas = {name: TOOLS[name] for name in offered}
    allowed = frozenset(offered if callable_ else ())
    reply = respond(parsed, Toolbox(schemas, allowed, parallel), CLOCK)
    assert parallel or len(reply.calls) <= 1
    for call in reply.calls:
        assert call.name in allowed
        properties = TOOLS[call.name]["properties"]
        assert set(TOOLS[call.name]["required"]) <= set(call.arguments) <= set(properties)
        assert all(isinstance(value, str) for value in call.arguments.values())
    # Only a hang-up that was announced leaves nothing to say.
    heard = [
        m for m in messages if m["role"] in ("user", "tool") or (m.get("content") or "").strip()
    ]
    heard = [m for m in heard if m["role"] not in ("system", "developer")]
    assert reply.text or reply.calls or heard[-1]["role"] == "tool"
    assert not any(mark in reply.text for mark in ("*", "#", "`"))
    spoken = [
        m["content"].strip() for m in messages if m["role"] == "assistant" and m.get("content")
    ]
    assert not reply.text or not spoken or reply.text != spoken[-1]
