import datetime

import pytest

from language_server.slots.birth_dates import find_birth_date

TODAY = datetime.date(2026, 11, 21)
BORN = datetime.date(1984, 5, 3)


@pytest.mark.parametrize(
    ("text", "born"),
    [
        ("I was born on the third of May, nineteen eighty four.", BORN),
        ("I was born on May the 3rd, 1984.", BORN),
        ("May 3, nineteen hundred and eighty four", BORN),
        ("It is 1984-05-03", BORN),
        ("my birthday is the 3rd day of May in the year 1984", BORN),
        ("the twenty eighth of February two thousand and five", datetime.date(2005, 2, 28)),
        ("twentieth of November nineteen seventy one", datetime.date(1971, 11, 20)),
        ("the third of May", None),
        ("the thirtieth of February 1984", None),
        ("the third of May 1884", None),
        ("the third of May 2030", None),
        ("1984-13-03", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_a_date_with_its_year_is_found(text: str, born: datetime.date | None) -> None:
    assert find_birth_date(text, TODAY) == born
