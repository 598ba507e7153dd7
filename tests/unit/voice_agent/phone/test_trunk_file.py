"""`trunks.yaml`: what it may say, and how a mistake is told."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from voice_agent.phone.errors import BadInput
from voice_agent.phone.trunk_reading import passwords, read_trunk_file

GOOD = """\
inbound:
  main:
    numbers: ["+15550100", "+15550101"]
    allowed_addresses: [192.0.2.0/24]
outbound:
  carrier:
    address: sip.example.com
    numbers: ["+15550100"]
rules:
  desk:
    trunks: [main]
    persona: front_desk
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "trunks.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    trunks = read_trunk_file(write(tmp_path, GOOD), None)
    assert trunks.inbound["main"].numbers == ("+15550100", "+15550101")
    assert trunks.outbound["carrier"].transport == "udp"
    assert trunks.rules["desk"].persona == "front_desk"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "    allowed_addresses: [192.0.2.0/24]\n",
            "",
            "line 2: inbound.main: is open to everybody",
        ),
        ("192.0.2.0/24", "0.0.0.0/0", "line 4: inbound.main.allowed_addresses.0: lets in most"),
        ("192.0.2.0/24", "128.0.0.0/1", "line 4: inbound.main.allowed_addresses.0: lets in most"),
        ("192.0.2.0/24", '"::/0"', "line 4: inbound.main.allowed_addresses.0: lets in most"),
        (
            "192.0.2.0/24",
            "sip.example.com",
            "line 4: inbound.main.allowed_addresses.0: must be an IP address",
        ),
        ("192.0.2.0/24", "192.0.2.0/33", "must be an IP address"),
        ("    numbers: [", "    number: [", "line 3: inbound.main.number: Extra inputs"),
        ('"+15550101"', '"+15550100"', "+15550100 belongs to main already"),
        ('"+15550101"', '"15550100"', "15550100 belongs to main already"),
        ('"+15550101"', '"+1 555 0101"', "line 3: inbound.main.numbers.1: String should match"),
        ('"+15550101"', '"+1555\\u00b2"', "line 3: inbound.main.numbers.1: String should match"),
        ("persona: front_desk", "persona: nobody", "line 12: rules.desk.persona: There is no"),
        ("persona: front_desk", "persona: ../front_desk", "letters, digits"),
        ("trunks: [main]", "trunks: [mian]", "line 11: rules.desk.trunks.0: no inbound trunk"),
        ("trunks: [main]", "trunks: [carrier]", "no inbound trunk 'carrier'; there are: main"),
        (
            "trunks: [main]",
            'trunks: [main]\n    numbers: ["+15550102"]',
            "line 12: rules.desk.numbers.0: +15550102 is no number of main",
        ),
        ("address: sip.example.com", "address: sip:sip.example.com", "line 7: outbound.carrier.a"),
        ("address: sip.example.com", "address: sip.example.com:0", "must be a host name"),
        ("address: sip.example.com", "address: a@b", "must be a host name"),
        (
            "address: sip.example.com",
            "address: sip.example.com\n    media_encryption: require",
            "set transport: tls",
        ),
        ("address: sip.example.com", "address: x\n    username: u", "without password_env"),
        ("address: sip.example.com", "address: x\n    password_env: P", "without username"),
        ("address: sip.example.com", "address: x\n    password: secret", "Extra inputs"),
        ("address: sip.example.com", "address: x\n    codecs: [opus]", "codecs.0"),
        ("inbound:", "inbound: 3\nx:", "line 1: inbound"),
        ("  carrier:", "  Carrier One:", "outbound.Carrier One"),
        ("  desk:", "  desk: &a", ""),
    ],
)
def test_a_mistake_names_line_field_and_fix(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    if not told:
        read_trunk_file(path, None)
        return
    with pytest.raises(BadInput) as caught:
        read_trunk_file(path, None)
    assert told in caught.value.message
    assert "\n" not in caught.value.message


def test_two_rules_may_not_answer_one_number(tmp_path: Path) -> None:
    second = "  other:\n    trunks: [main]\n    persona: bank_support\n"
    with pytest.raises(BadInput, match="every other number on main is answered by rule desk"):
        read_trunk_file(write(tmp_path, GOOD + second), None)
    numbered = second + '    numbers: ["15550101"]\n'
    read_trunk_file(write(tmp_path, GOOD + numbered), None)
    again = numbered.replace("other", "third").replace("15550101", "+15550101")
    with pytest.raises(BadInput, match=r"\+15550101 on main is answered by rule other already"):
        read_trunk_file(write(tmp_path, GOOD + numbered + again), None)


def test_two_trunks_may_not_take_every_number(tmp_path: Path) -> None:
    text = (
        "inbound:\n  a: {allowed_addresses: [192.0.2.1]}\n  b: {allowed_addresses: [192.0.2.2]}\n"
    )
    with pytest.raises(BadInput, match=r"line 3: inbound\.b: takes every number, as a does"):
        read_trunk_file(write(tmp_path, text), None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"inbound: [", "line 1"),
        (b"- a\n", "must be a list of fields"),
        (b"", "must be a list of fields"),
        (b"inbound: *x\n", "aliases"),
        (b"inbound: " + b"{a: " * 20, "nested too deeply"),
        (b"inbound: {}\ninbound: {}\n", "line 2: inbound: is repeated"),
        (b"inbound: [{a: 1, a: 2}]\n", "line 1: a list may hold plain values only"),
        (b"x" * 70_000, "larger than 64 KiB"),
        (b"inbound: {}\n\x1b[31m: 1\n", ""),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: bytes, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_trunk_file(write(tmp_path, text), None)
    assert told in caught.value.message
    assert caught.value.message.isprintable()


def test_many_mistakes_are_told_up_to_five(tmp_path: Path) -> None:
    text = "inbound:\n" + "".join(f"  t{index}: {{}}\n" for index in range(9))
    with pytest.raises(BadInput, match=r"\(and 4 more\)"):
        read_trunk_file(write(tmp_path, text), None)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        read_trunk_file(tmp_path / "none.yaml", None)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_file_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    with contextlib.suppress(BadInput):
        read_trunk_file(write(tmp_path_factory.getbasetemp(), raw), None)


def test_passwords_come_from_the_environment_only(tmp_path: Path) -> None:
    text = GOOD.replace(
        "address: sip.example.com",
        "address: x\n    username: u\n    password_env: CARRIER_PASSWORD",
    )
    path = write(tmp_path, text)
    trunks = read_trunk_file(path, None)
    found = passwords(path, trunks, {"CARRIER_PASSWORD": SecretStr("hidden")}.get)
    assert found["CARRIER_PASSWORD"].get_secret_value() == "hidden"
    assert "hidden" not in repr(found)
    with pytest.raises(BadInput, match="no password in the environment: CARRIER_PASSWORD"):
        passwords(path, trunks, lambda _: None)
