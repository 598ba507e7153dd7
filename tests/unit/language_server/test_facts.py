import pytest

from language_server.dialogue.facts import MAX_FACT_CHARS, find_fact
from language_server.dialogue.intents import Intent

LINES = (
    "You are a desk.\n- **Address:** 1 Main Street\nParking: behind the house.\n"
    "Prices: a check-up is 80 dollars"
)
LIST = (
    "You book. Never mention the street.\n\nFacts:\n"
    "- The practice is at 12 Mill Lane, beside the station.\n"
    "- There is parking behind the building.\n- A check-up takes thirty minutes.\n"
)


@pytest.mark.parametrize(
    ("prompt", "intent", "fact"),
    [
        (LINES, Intent.ADDRESS, "1 Main Street."),
        (LINES, Intent.PARKING, "behind the house."),
        (LINES, Intent.PRICE, "a check-up is 80 dollars."),
        (LINES, Intent.INSURANCE, None),
        (LIST, Intent.ADDRESS, "The practice is at 12 Mill Lane, beside the station."),
        (LIST, Intent.PARKING, "There is parking behind the building."),
        (LIST, Intent.PRICE, None),
        ("", Intent.ADDRESS, None),
        ("Address:\n", Intent.ADDRESS, None),
        (LIST, Intent.BOOK, None),
    ],
)
def test_finds_what_the_prompt_says(prompt: str, intent: Intent, fact: str | None) -> None:
    assert find_fact(prompt, intent) == fact


def test_a_fact_is_bounded() -> None:
    fact = find_fact("Address: " + "x" * 5000, Intent.ADDRESS)
    assert fact is not None
    assert len(fact) <= MAX_FACT_CHARS + 1
