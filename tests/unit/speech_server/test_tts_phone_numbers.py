"""Telephone numbers in words."""

import pytest

from speech_server.tts.phone_numbers import say_phone_numbers
from speech_server.tts.spoken_forms import INNER_BLANK

NUMBER = "four one five, five five five, zero one two three"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("+1 415 555 0123", f"plus one, {NUMBER}"),
        ("+14155550123", f"plus one, {NUMBER}"),
        ("(415) 555-0123", NUMBER),
        ("4155550123", NUMBER),
        ("415.555.0123", NUMBER),
        ("1-800-555-0199", "one, eight zero zero, five five five, zero one nine nine"),
        ("415-555-0123 x42", f"{NUMBER}, extension four two"),
        ("+44 20 7946 0958", "plus four four, two zero, seven nine four six, zero nine five eight"),
        ("+971 4 123 4567", "plus nine seven one, four, one two three, four five six seven"),
        ("Dial 911 or 555", "Dial nine one one or 555"),
        ("911 people", "911 people"),
        ("1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10"),
        ("3.1415926535 and 2026-11-24", "3.1415926535 and 2026-11-24"),
        ("4111 1111 1111 1111", "4111 1111 1111 1111"),
    ],
)
def test_what_is_one_and_what_is_not(written: str, said: str) -> None:
    spoken = say_phone_numbers(written, "US")
    assert spoken.replace(INNER_BLANK, " ") == said
    assert spoken.count(" ") == written.count(" ")


def test_the_country_decides_what_needs_no_plus() -> None:
    british = "020 7946 0958"
    assert say_phone_numbers(british, "GB").startswith("zero")
    assert say_phone_numbers(british, "US") == british
    assert say_phone_numbers("call 999", "GB") == f"call {INNER_BLANK.join(['nine'] * 3)}"
    assert say_phone_numbers("(415) 555-0123", "nowhere").startswith("four")
