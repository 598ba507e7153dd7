from datetime import date
from pathlib import Path

import pytest

from voice_agent.persona_yaml import MAX_FILE_BYTES
from voice_agent.personas import (
    PersonaError,
    UnknownPersona,
    default_persona,
    load_persona,
    read_persona,
)
from voice_agent.scopes import EARNED, Scope
from voice_agent.tools.registry import TOOLS

MINIMAL = """\
name: clerk
disclosure: I am a robot.
greeting: Hello. I am a robot.
instructions: Be kind.
"""


def write(folder: Path, text: str | bytes, name: str = "clerk.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_front_desk_is_complete() -> None:
    persona = load_persona("front_desk")
    assert persona.disclosure in persona.greeting
    assert persona.tools[0] == "opening_hours"
    assert "end_call" in persona.tools
    assert persona.opening_hours is not None
    assert len(persona.opening_hours.slots(date(2026, 11, 27))) == 12


def test_an_operators_folder_comes_first_and_adds(tmp_path: Path) -> None:
    write(tmp_path, MINIMAL)
    write(tmp_path, MINIMAL.replace("clerk", "front_desk"), "front_desk.yaml")
    assert load_persona("clerk", tmp_path).greeting == "Hello. I am a robot."
    assert load_persona("front_desk", tmp_path).tools == ()


def test_the_default_may_be_a_name_or_a_path(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL)
    assert default_persona(str(path)).name == "clerk"
    assert default_persona("front_desk").name == "front_desk"


@pytest.mark.parametrize(
    "name",
    ["../front_desk", "/etc/passwd", "front_desk.yaml", "", "a" * 65, "front desk", "front_desk\n"],
)
def test_a_callers_name_is_never_a_path(name: str, tmp_path: Path) -> None:
    write(tmp_path.parent, MINIMAL, "front_desk.yaml")
    with pytest.raises(UnknownPersona, match="letters, digits"):
        load_persona(name, tmp_path)


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    write(tmp_path, MINIMAL)
    with pytest.raises(
        UnknownPersona, match="'nobody'; there are: bank_reception, bank_support, clerk"
    ):
        load_persona("nobody", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "colour: blue\n", r"line 5: colour: Extra inputs"),
        (MINIMAL + "tools:\n  - end_call\n  - fly\n", r"line 5: tools: no tool 'fly'; there are:"),
        (MINIMAL + "tools: [end_call, end_call]\n", r"line 5: tools: a tool is named twice"),
        (MINIMAL + "tools: [book_appointment]\n", r"book_appointment needs opening_hours"),
        (MINIMAL + "voice: ../../etc\n", r"line 5: voice: String should match"),
        (MINIMAL + "language: english please\n", r"line 5: language: String should match"),
        (MINIMAL + "timezone: Mars/Base\n", r"line 5: timezone: is not an IANA time zone"),
        (MINIMAL + "timezone: ../../etc/passwd\n", r"line 5: timezone: is not an IANA"),
        (
            MINIMAL + "opening_hours:\n  monday: 08:00-18:00\n  friday: 14:00-08:00\n",
            r"line 7: opening_hours.friday: must close after",
        ),
        (MINIMAL + "opening_hours:\n  caturday: 08:00-18:00\n", r"line 6: opening_hours.caturday"),
        (MINIMAL + "opening_hours:\n  slot_minutes: 0\n", r"line 6: opening_hours.slot_minutes"),
        (MINIMAL + "facts:\n  - ok\n  - ''\n", r"line 7: facts.1: String should have at least"),
        (MINIMAL.replace("Hello. I am a robot.", "Hello."), r"greeting must contain"),
        (MINIMAL.replace("instructions: Be kind.\n", ""), r"instructions: Field required"),
        (MINIMAL.replace("name: clerk", "name: other"), r"line 1: name: must be 'clerk'"),
        (MINIMAL.replace("Be kind.", "x" * 16_001), r"line 4: instructions: String should have"),
        (MINIMAL + "name: clerk\n", r"line 5: name: is repeated"),
        (MINIMAL + "facts: {a: 1, a: 2}\n", r"line 5: a: is repeated"),
        (MINIMAL + "voice: [unclosed\n", r"line \d: "),
        (MINIMAL + "\tvoice: x\n", r"line 5: "),
        (MINIMAL + "facts: &a [x]\ntools: *a\n", r"aliases"),
        ("- a\n- b\n", r"line 1: must be a list of fields"),
        ("", r"line 1: must be a list of fields"),
        ("? [a]\n: b\n", r"line 1: field names are words"),
        ("a: " + "[" * 20_000, r"line 1: nested too deeply"),
        ("a:\n" + "".join(" " * i + "- \n" for i in range(1, 300)), r"line \d+: nested too deeply"),
        (b"name: \xff\xfe", r"not UTF-8"),
        (b"name: a\x00b", r"is not YAML"),
        ("#" * (MAX_FILE_BYTES + 1), r"larger than 64 KiB"),
    ],
)
def test_a_mistake_names_file_line_and_field(
    text: str | bytes, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PersonaError, match=message) as caught:
        read_persona(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


COLLEAGUES = (
    MINIMAL
    + """\
hands_over_to: [desk]
agents:
  desk:
    when: For letters.
    instructions: Be quick.
    tools: [end_call]
"""
)


def test_colleagues_have_their_own_words_and_the_personas_rest(tmp_path: Path) -> None:
    persona = read_persona(write(tmp_path, COLLEAGUES + "    voice: deep\n"))
    desk = persona.colleague("desk")
    assert (desk.instructions, desk.tools, desk.voice) == ("Be quick.", ("end_call",), "deep")
    assert (desk.language, desk.farewell, desk.name) == ("en", persona.farewell, "clerk")
    assert desk.granted == {Scope.CALL_CONTROL}
    assert persona.granted == {Scope.CALL_CONTROL}
    with pytest.raises(KeyError):
        persona.colleague("nobody")


@pytest.mark.parametrize("name", ["bank_support", "bank_reception"])
def test_the_banks_personas_verify_before_they_tell(name: str) -> None:
    persona = load_persona(name)
    for role in (persona, *persona.agents.values()):
        assert not role.granted & EARNED
        for tool in {"account_balance", "explain_balance", "report_transaction"} & set(role.tools):
            assert Scope.CALLER_VERIFIED in TOOLS[tool].needs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "scopes: [fly]\n", r"line 5: scopes.0: Input should be"),
        (MINIMAL + "scopes: [caller:verified]\n", r"line 5: scopes: caller:verified is earned"),
        (
            MINIMAL + "tools:\n  - end_call\nscopes: [identity:check]\n",
            r"line 7: scopes: tool end_call needs call:control, which is left out",
        ),
        (
            MINIMAL + "tools: [account_balance]\n",
            r"line 5: tools: tool account_balance works only after verify_identity, which nobody",
        ),
        (MINIMAL + "hands_over_to: [desk]\n", r"line 5: hands_over_to.0: no other agent 'desk'"),
        (MINIMAL + "hands_over_to: [../desk]\n", r"line 5: hands_over_to.0: String should match"),
        (COLLEAGUES.replace("hands_over_to: [desk]\n", ""), r"line 6: agents.desk: nobody hands"),
        (COLLEAGUES.replace("desk", "human"), r"line 7: agents.human: human is the name"),
        (
            COLLEAGUES.replace("    when: For letters.\n", ""),
            r"line 7: agents.desk.when: Field",
        ),
        (COLLEAGUES + "    hands_over_to: [desk]\n", r"line 11: .*no other agent 'desk'"),
        (COLLEAGUES + "    scopes: []\n", r"line 11: agents.desk.scopes: tool end_call needs"),
        (COLLEAGUES + "    tools_: [x]\n", r"line 11: agents.desk.tools_: Extra inputs"),
        (COLLEAGUES + "    greeting: Hi\n", r"line 11: agents.desk.greeting: Extra inputs"),
        (COLLEAGUES + "  desk:\n    when: x\n", r"line 11: desk: is repeated"),
    ],
)
def test_a_persona_that_contradicts_itself_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(PersonaError, match=message) as caught:
        read_persona(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match=r"nobody\.yaml: No such file"):
        read_persona(tmp_path / "nobody.yaml")


def test_yes_no_and_times_stay_words(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL + "facts: [yes, 08:30, 0123]\nvoice: ~\n")
    persona = read_persona(path)
    assert persona.facts == ("yes", "08:30", "0123")
    assert persona.voice is None
