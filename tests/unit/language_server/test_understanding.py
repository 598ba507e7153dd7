import datetime
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from language_server.dialogue.intents import FRONT_DESK_INTENTS, Intent, built_in_intents
from language_server.dialogue.understanding import carve, understand
from language_server.slots.plain_text import plain

TODAY = datetime.date(2026, 11, 21)
FOLDER = Path(__file__).parent


def cases(file: str) -> list[tuple[str, str]]:
    data: dict[str, list[str]] = yaml.safe_load((FOLDER / file).read_text("utf-8"))
    return [(intent, sentence) for intent, sentences in data.items() for sentence in sentences]


@cache
def judged(file: str) -> tuple[int, int, list[str]]:
    """Right answers, all answers, and the wrong ones in words."""
    wrong = []
    listed = cases(file)
    for intent, sentence in listed:
        intents = understand(sentence, TODAY).intents
        heard = intents[0].value if intents else "none"
        if heard != intent:
            wrong.append(f"{sentence!r}: {heard}, not {intent}")
    return len(listed) - len(wrong), len(listed), wrong


def test_paraphrases_are_understood() -> None:
    right, total, wrong = judged("intent_cases.yaml")
    assert right / total >= 0.95, wrong


def test_misheard_sentences_are_understood() -> None:
    right, total, wrong = judged("heard_cases.yaml")
    assert right / total >= 0.92, wrong


def test_all_together_are_understood() -> None:
    rights, totals, _ = zip(judged("intent_cases.yaml"), judged("heard_cases.yaml"), strict=True)
    assert sum(rights) / sum(totals) >= 0.95


@pytest.mark.parametrize(
    "sentence", [s for intent, s in cases("intent_cases.yaml") if intent == "none"]
)
def test_garbage_is_not_understood(sentence: str) -> None:
    assert understand(sentence, TODAY).intents == ()


def test_the_cases_are_held_out_and_many() -> None:
    examples = {e for entry in built_in_intents().root.values() for e in entry.examples}
    listed = cases("intent_cases.yaml")
    for intent in FRONT_DESK_INTENTS:
        own = [sentence for name, sentence in listed if name == intent]
        assert len(own) >= 12
    same = [sentence for _, sentence in listed if sentence in examples]
    assert same == []
    # One-word answers cannot be said differently; everything longer must be.
    longer = [s for name, s in listed if len(s.split()) > 3 and plain(s) in examples]
    assert len(longer) / len(listed) < 0.2


def test_a_booking_carries_everything() -> None:
    heard = understand(
        "I would like to book a check-up on Tuesday at three thirty. My name is Peter Miller.",
        TODAY,
    )
    assert heard.intents[0] is Intent.BOOK
    assert heard.day == datetime.date(2026, 11, 24)
    assert heard.time == datetime.time(15, 30)
    assert heard.name == "Peter Miller"
    assert heard.reason == "check-up"


def test_two_wishes_are_both_heard() -> None:
    heard = understand("What are your opening hours, and when is my appointment?", TODAY)
    assert {Intent.OPENING_HOURS, Intent.FIND} <= set(heard.intents)


@pytest.mark.parametrize("text", ["", "   ", "...", "?!", "\u4f60\u597d"])
def test_no_word_is_silence(text: str) -> None:
    assert understand(text, TODAY).silent


def test_parts_of_the_day() -> None:
    assert understand("Monday morning", TODAY).part_of_day == "morning"
    assert understand("after lunch", TODAY).part_of_day == "afternoon"
    assert understand("the earliest you have", TODAY).earliest


def test_details_are_carved_out() -> None:
    text = "Book me on Tuesday at 3:30, my name is Peter Miller"
    assert carve(text, TODAY, "Peter Miller") == "book me"


@given(st.text(max_size=400), st.booleans(), st.booleans())
def test_never_raises(text: str, name_asked: bool, time_asked: bool) -> None:
    understand(text, TODAY, name_asked=name_asked, time_asked=time_asked)
