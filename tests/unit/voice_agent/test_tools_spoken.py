"""Times and days as people say them."""

from datetime import date, time

import pytest

from voice_agent.tools.spoken import spoken_day, spoken_money, spoken_time


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (time(8), "eight in the morning"),
        (time(15, 30), "half past three in the afternoon"),
        (time(12, 15), "quarter past twelve in the afternoon"),
        (time(11, 45), "quarter to twelve in the morning"),
        (time(18, 5), "six oh five in the evening"),
        (time(9, 12), "nine twelve in the morning"),
        (time(9, 50), "nine fifty in the morning"),
        (time(9, 21), "nine twenty one in the morning"),
        (time(0, 30), "half past twelve in the morning"),
    ],
)
def test_times_are_said_as_people_say_them(moment: time, said: str) -> None:
    assert spoken_time(moment) == said


def test_dates_are_said_as_people_say_them() -> None:
    assert spoken_day(date(2026, 11, 24)) == "Tuesday 24 November"


@pytest.mark.parametrize(
    ("cents", "currency", "words"),
    [
        (0, "GBP", "0 pounds"),
        (100, "GBP", "1 pound"),
        (8_450, "GBP", "84 pounds 50"),
        (-8_450, "GBP", "84 pounds 50"),
        (128_940, "GBP", "1,289 pounds 40"),
        (1_905, "EUR", "19 euros and 5 cents"),
        (7, "GBP", "7 pence"),
        (123_456_700, "USD", "1,234,567 dollars"),
        (250, "CHF", "2 CHF 50"),
    ],
)
def test_amounts_are_said(cents: int, currency: str, words: str) -> None:
    assert spoken_money(cents, currency) == words
