import pytest

from voice_agent.phone.errors import MAX_QUOTED_CHARS, one_line
from voice_agent.phone.numbers import is_e164, masked


@pytest.mark.parametrize("number", ["+15550100", "+442071838750", "+999999999999999"])
def test_numbers(number: str) -> None:
    assert is_e164(number)
    assert masked(number) == f"…{number[-4:]}"


@pytest.mark.parametrize(
    "number",
    ["", "+", "112", "+112", "+911", "15550100", "+05550100", "+1 555 0100", "+1555010a",
     "+1234567890123456", "+15550100\n", "+٣٣٣٣٣٣٣٣", "sip:+15550100@x", "+15550100;ext=1"],
)  # fmt: skip
def test_no_numbers(number: str) -> None:
    assert not is_e164(number)


def test_a_short_number_is_hidden_whole() -> None:
    assert masked("1000") == "…"


def test_foreign_words_are_made_harmless() -> None:
    assert one_line("a\x1b[31m\r\nb\u202ec") == "a [31m b c"
    assert len(one_line("x" * 10_000)) == MAX_QUOTED_CHARS
