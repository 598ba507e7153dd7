from typing import Any

import pytest

from language_server.dialogue.toolbox import Toolbox

STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "reason": {"type": ["string", "null"]}},
    "required": ["name", "reason"],
    "additionalProperties": False,
}


def box(schema: dict[str, Any]) -> Toolbox:
    return Toolbox({"tool": schema}, frozenset({"tool"}))


def test_a_required_argument_that_may_be_null_is_null() -> None:
    call = box(STRICT).call("tool", name="Peter")
    assert call is not None
    assert call.arguments == {"name": "Peter", "reason": None}


def test_a_required_argument_that_is_not_known_forbids_the_call() -> None:
    assert box(STRICT).call("tool", reason="pain") is None


def test_arguments_that_the_tool_does_not_know_are_left_out() -> None:
    call = box(STRICT).call("tool", name="Peter", day="2026-11-24")
    assert call is not None
    assert "day" not in call.arguments


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"type": "string"}, True),
        ({"type": "integer"}, False),
        ({"enum": ["Peter"]}, True),
        ({"enum": ["Paul"]}, False),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, False),
        ({}, True),
        (None, True),
    ],
)
def test_values_must_fit_their_schema(schema: Any, fits: bool) -> None:
    call = box({"properties": {"name": schema}, "required": ["name"]}).call("tool", name="Peter")
    assert (call is not None) is fits


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert box(STRICT).call("other", name="Peter") is None
    assert Toolbox({"tool": STRICT}).call("tool", name="Peter") is None


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 3}, {"required": "name"}, {"properties": {"name": []}}]
)
def test_an_odd_schema_does_not_raise(schema: dict[str, Any]) -> None:
    box(schema).call("tool", name="Peter")


def test_knows_the_front_desk() -> None:
    assert Toolbox({"book_appointment": {}}).is_front_desk
    assert not Toolbox({"end_call": {}, "weather": {}}).is_front_desk


def test_unrestricted_lifts_the_choice() -> None:
    assert Toolbox({"tool": STRICT}, must_call=True).unrestricted().offers("tool")
