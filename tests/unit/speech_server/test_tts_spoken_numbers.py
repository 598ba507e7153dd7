"""Numbers as words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_to_num import text2num

from speech_server.tts.spoken_numbers import decade, digits, money, number, ordinal, year


@given(st.integers(0, 10**12 - 1))
def test_a_count_is_understood_as_itself(value: int) -> None:
    assert text2num(number(f"{value:,}"), "en") == value


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0", "zero"),
        ("42", "forty-two"),
        ("999", "nine hundred and ninety-nine"),
        ("1099", "one thousand and ninety-nine"),
        ("1,984", "one thousand nine hundred and eighty-four"),
        ("1984", "nineteen eighty-four"),
        ("2005", "two thousand and five"),
        ("2100", "two thousand one hundred"),
        ("123456", "one hundred and twenty-three thousand four hundred and fifty-six"),
        ("1234567", "one two three four five six seven"),
        ("007", "zero zero seven"),
        ("3.50", "three point five zero"),
        ("1984.5", "one thousand nine hundred and eighty-four point five"),
        (".5", "point five"),
        ("0.05", "zero point zero five"),
        ("٤٢", "forty-two"),
        ("1" + ",000" * 4, "one trillion"),
        ("1" + ",000" * 5, "one" + " zero" * 15),
    ],
)
def test_numbers(written: str, said: str) -> None:
    assert number(written) == said


@pytest.mark.parametrize(
    ("amount", "sign", "magnitude", "said"),
    [
        ("3", "$", "", "three dollars"),
        ("1", "$", "", "one dollar"),
        ("3.50", "$", "", "three dollars and fifty cents"),
        ("1.01", "$", "", "one dollar and one cent"),
        ("0.99", "£", "", "ninety-nine pence"),
        ("1", "£", "", "one pound"),
        ("0.00", "€", "", "zero euros"),
        (".50", "$", "", "fifty cents"),
        ("5.20", "€", "", "five euros and twenty cents"),
        ("1,234.56", "$", "",
         "one thousand two hundred and thirty-four dollars and fifty-six cents"),
        ("1984", "$", "", "one thousand nine hundred and eighty-four dollars"),
        ("2.5", "$", "million", "two point five million dollars"),
        ("3.599", "$", "", "three point five nine nine dollars"),
        ("500", "¥", "", "five hundred yen"),
        ("20", "₹", "", "twenty rupees"),
        ("1" + "0" * 16, "$", "", "one" + " zero" * 16 + " dollars"),
    ],
)  # fmt: skip
def test_money(amount: str, sign: str, magnitude: str, said: str) -> None:
    assert money(amount, sign, magnitude) == said


def test_years_decades_ordinals_digits() -> None:
    assert (year(1905), year(2026)) == ("nineteen oh-five", "twenty twenty-six")
    assert (decade(90), decade(1990), decade(1900)) == (
        "nineties",
        "nineteen nineties",
        "nineteen hundreds",
    )
    assert (ordinal(1), ordinal(112)) == ("first", "one hundred and twelfth")
    assert digits("0-1x٢") == "zero one two"
