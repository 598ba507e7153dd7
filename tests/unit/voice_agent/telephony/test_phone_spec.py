from pathlib import Path

import pytest

from voice_agent.personas import BUILT_IN, PersonaError, persona_for_number, read_persona

BASE = """\
name: desk
disclosure: I am a machine.
greeting: Hello, I am a machine.
instructions: Help.
"""

PHONE = """\
phone:
  numbers: ["+1 555 0100", "15550101"]
  keys:
    menu: {"1": I would like to book., "0": I want a person.}
    length: 1
  transfers:
    accounts:
      number: "+15550199"
      when: Invoices.
      how: warm
transfers_to: [accounts]
"""


def write(folder: Path, text: str, name: str = "desk") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("name: desk", f"name: {name}"))
    return path


def test_a_persona_says_what_its_telephone_does(tmp_path: Path) -> None:
    persona = read_persona(write(tmp_path, BASE + PHONE))
    assert persona.phone.numbers == ("+15550100", "15550101")
    assert persona.phone.keys.menu["0"] == "I want a person."
    assert persona.destinations["accounts"].how == "warm"
    assert "call:control" in persona.granted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("transfers_to: [accounts]\n", "line 5: transfers_to.0: no destination 'accounts'"),
        (PHONE.replace("transfers_to: [accounts]", ""), "nobody transfers there"),
        (PHONE + "scopes: []\n", "transfers_to needs call:control"),
        (PHONE.replace('"+15550199"', "the desk"), "neither a number"),
        (PHONE.replace('"1":', '"11":'), "phone.keys.menu"),
        (PHONE.replace("how: warm", "how: hot"), "'cold' or 'warm'"),
        (PHONE.replace("length: 1", "length: 1000"), "phone.keys.length"),
        (PHONE.replace("numbers:", "nmbers:"), "phone.nmbers"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PersonaError) as error:
        read_persona(write(tmp_path, BASE + text))
    assert told in str(error.value)


@pytest.mark.parametrize("number", ["+15550100", "15550100", "+15550101"])
def test_the_number_dialled_chooses_the_persona(tmp_path: Path, number: str) -> None:
    write(tmp_path, BASE + PHONE)
    persona = persona_for_number(number, tmp_path)
    assert persona is not None
    assert persona.name == "desk"


def test_a_number_of_nobody_chooses_nobody(tmp_path: Path) -> None:
    write(tmp_path, BASE + PHONE)
    assert persona_for_number("+15550999", tmp_path) is None


def test_two_personas_cannot_have_one_number(tmp_path: Path) -> None:
    write(tmp_path, BASE + PHONE)
    write(tmp_path, BASE + PHONE, "other")
    with pytest.raises(PersonaError, match="desk, other"):
        persona_for_number("+15550100", tmp_path)


def test_the_built_in_personas_claim_no_number() -> None:
    assert not any(read_persona(path).phone.numbers for path in BUILT_IN.glob("*.yaml"))
