import re

from language_server.slots.mentions import find_mentions, wanted

PATTERNS = (re.compile(r"\b\d+ apples\b"), re.compile(r"\d+"))
DENIED = re.compile(r"\bnot $")


def number(match: re.Match[str]) -> int | None:
    value = int(match[0].split()[0])
    return value if value < 100 else None


def test_the_surest_pattern_takes_its_text_from_the_others() -> None:
    found = [(m.value, m.start, m.end) for m in find_mentions("3 4 apples 5", PATTERNS, number)]
    assert found == [(4, 2, 10), (3, 0, 1), (5, 11, 12)]


def test_a_match_that_means_nothing_is_none() -> None:
    assert list(find_mentions("500 apples", PATTERNS, number)) == []


def test_the_first_that_is_not_denied_is_wanted() -> None:
    def chosen(text: str) -> int | None:
        return wanted(text, find_mentions(text, PATTERNS, number), DENIED)

    assert chosen("5 or 4 apples") == 5
    assert chosen("not 5 but 4 apples") == 4
    assert chosen("not 5") is None
