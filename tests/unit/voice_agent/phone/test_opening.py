"""The first words of a call that we make: always those in which a machine says that it is one."""

import pytest

from voice_agent.personas import PersonaError, load_persona
from voice_agent.phone.errors import BadInput
from voice_agent.phone.opening import opening_words, with_opening

PERSONA = load_persona("front_desk")
OWN = f"Good day.\n {PERSONA.disclosure} It is about your appointment."


def test_the_greeting_is_the_opening_where_no_other_is_chosen() -> None:
    assert opening_words(PERSONA, None) == PERSONA.greeting
    assert with_opening(PERSONA, None) is PERSONA


def test_another_opening_takes_the_greetings_place() -> None:
    assert opening_words(PERSONA, OWN).startswith(f"Good day. {PERSONA.disclosure}")
    assert with_opening(PERSONA, OWN).greeting == opening_words(PERSONA, OWN)
    assert with_opening(PERSONA, OWN).instructions == PERSONA.instructions


@pytest.mark.parametrize(
    ("opening", "told"),
    [
        ("Good day, my name is Ann.", "says that it is a machine"),
        ("x" * 601, "longer than 600"),
        ("\x00", "says that it is a machine"),
    ],
)
def test_an_opening_that_hides_the_machine_is_refused(opening: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        opening_words(PERSONA, opening)
    with pytest.raises(PersonaError, match=told):
        with_opening(PERSONA, opening)


@pytest.mark.parametrize("opening", [3, ["x"], {"a": "b"}, True])
def test_metadata_may_hold_anything(opening: object) -> None:
    with pytest.raises(PersonaError, match="not text"):
        with_opening(PERSONA, opening)
