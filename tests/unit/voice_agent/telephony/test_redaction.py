import io
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.voice_agent.telephony.test_card_number import TEST_CARDS
from voice_agent.telephony.redaction import (
    CARD,
    CODE,
    MAX_TEXT,
    RedactingFilter,
    redact,
    redact_all,
)
from voice_agent.telephony.spoken_digits import digit_runs

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def spoken(number: str) -> str:
    return " ".join(WORDS[int(digit)] for digit in number)


def digits(text: str) -> list[str]:
    return ["".join(said.value for said in run) for run in digit_runs(text)]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("four one one one", ["4111"]),
        ("4111 1111-1111, 1111", ["4111111111111111"]),
        ("double five triple one oh", ["551110"]),
        ("forty one eleven", ["4111"]),
        ("forty, two hundred", ["40200"]),
        ("four one um one and then uh one", ["4111"]),
        ("call four four at seven", ["44", "7"]),
        ("I have to go for it", []),
        ("won at last", []),
        ("", []),
        ("\u0661\u0662", []),
    ],
)
def test_digits_as_people_say_them(text: str, runs: list[str]) -> None:
    assert digits(text) == runs


@pytest.mark.parametrize(("number", "_"), TEST_CARDS)
def test_every_way_to_say_a_card_is_taken_out(number: str, _: str) -> None:
    groups = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    for said in (number, groups, groups.replace(" ", "-"), spoken(number), spoken(number).upper()):
        text = redact(f"My card is {said}, thank you.")
        assert text == f"My card is {CARD}, thank you."


@pytest.mark.parametrize(
    "text",
    [
        "four one one one, um, one one one one, okay, one one one one, and one one one one",
        "forty-one eleven eleven eleven eleven eleven eleven eleven",
        "four triple one double one double one, 1111 then one one one one",
        "it is 4111 1111 and then 1111 1111",
        "Visa 4111.1111.1111.1111",
        "four one one one… one one one one… one one one one… one one one one",
    ],
)
def test_a_card_said_in_an_untidy_way_is_taken_out(text: str) -> None:
    redacted = redact(text)
    assert CARD in redacted
    assert not any(len(run) > 4 for run in digits(redacted))


@pytest.mark.parametrize(
    "heard",
    [
        "My card is 4000 0000 0566 5566 5566",
        "My card is 40000056655665556",
        "My card is 5105 1051 0510 510.",
        "Card is five, one, zero, five, one, zero, five, one, zero, five, one, zero, zero.",
        "It's a Visa, 4111 1111 1111.",
        "My card is four one one one, one one one one, one one one one, one one one two",
        "The car just takes 011, 0009, 9013, 9424.",
        "Zero one one, zero zero zero nine, nine zero one three, nine four two four.",
        "It was 0111 1111 1111 1112.",
        "My credit card number is 3714-496-353.",
        "My credit card number is to 0110000990139424.",
        "The debit card's three zero five six, nine three zero.",
    ],
)
def test_a_card_whose_digits_were_misheard_is_taken_out(heard: str) -> None:
    assert digits(redact(heard, heard=True)) == []
    assert redact(heard) == heard


@pytest.mark.parametrize(
    "text",
    [
        "My customer number is four zero zero one two three.",
        "Call me on +44 20 7946 0000.",
        "On 24 November 2026 at 15:30, for Peter Miller.",
        "The balance is 1,084 pounds 50.",
        "It was 01111 11111 11111 12.",
        "The parcel is 9400 1000 0000 0000 0000 00.",
        "My library card is 8111 1111 1112.",
        "My credit card number is 371449.",
        "My credit card was declined, please call me on 0151 2345 678.",
        "Thanks for the card. I moved house, and from now on you can reach me on 49 1512 3456 789.",
        "Call me on plus 49 1512 3456 789, or on 49 30 1234 5678.",
        "One moment, I have one more question, two in fact.",
        "",
    ],
)
def test_what_is_no_card_stays(text: str) -> None:
    assert redact(text) == text
    assert redact(text, heard=True) == text


@pytest.mark.parametrize(
    "text",
    [
        "The security code is 123.",
        "cvv one two three",
        "My C V C is, um, four two oh seven",
        "the three digits on the back are 987",
    ],
)
def test_a_verification_code_is_taken_out(text: str) -> None:
    redacted = redact(text)
    assert CODE in redacted
    assert digits(redacted.replace("three digits", "")) == []


def test_a_number_may_begin_in_one_turn_and_end_in_the_next() -> None:
    halves = ["My number is four one one one one one one one", "one one one one one one one one."]
    assert redact_all(halves) == [f"My number is {CARD}", f"{CARD}."]
    assert redact_all(["Hello", "there"]) == ["Hello", "there"]


@pytest.mark.parametrize(
    ("heard", "left"),
    [
        ("378282246310005 0111 0009 9013 9424", f"{CARD} {CARD}"),
        ("505000001097 two 4111 zero zero zero 4111", f"{CARD} two 4111 zero zero zero 4111"),
        ("the CVC is 123, at 456 Main Street", f"the CVC is {CODE}, at 456 Main Street"),
        ("4111111111111111, or call 49 1512 3456 789", f"{CARD}, or call 49 1512 3456 789"),
    ],
)
def test_what_follows_in_one_breath_is_judged_by_itself(heard: str, left: str) -> None:
    assert redact(heard, heard=True) == left
    assert redact(left, heard=True) == left


def test_two_cards_in_one_text() -> None:
    text = redact("4111111111111111 or else please take the other, 5555555555554444.")
    assert text.count(CARD) == 2
    assert digits(text) == []


def test_an_endless_text_is_cut() -> None:
    assert len(redact("1 " * 10 * MAX_TEXT)) <= MAX_TEXT


@given(st.text(max_size=300))
def test_any_text_can_be_redacted_and_redacting_again_changes_nothing(text: str) -> None:
    for heard in (False, True):
        once = redact(text, heard=heard)
        assert redact(once, heard=heard) == once


@given(st.lists(st.sampled_from([*WORDS, "4111", "double", "um", "Peter", ",", "."]), max_size=60))
def test_no_card_is_left(words: list[str]) -> None:
    for heard in (False, True):
        text = redact(" ".join(words), heard=heard)
        assert redact(text, heard=heard) == text


def test_a_log_holds_no_card() -> None:
    sink = io.StringIO()
    handler = logging.StreamHandler(sink)
    handler.setFormatter(logging.Formatter("%(message)s %(heard)s"))
    handler.addFilter(RedactingFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    logger.info("said %s", "4111 1111 1111 1111", extra={"heard": spoken("378282246310005")})
    assert sink.getvalue() == f"said {CARD} {CARD}\n"
