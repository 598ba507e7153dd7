import pytest

from voice_agent.turns.words import Ending, ending


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Ending.NOTHING),
        (" ... ", Ending.NOTHING),
        ("I would like to.", Ending.OPEN),
        ("I need to move my appointment from.", Ending.OPEN),
        ("Could you tell me if the?", Ending.OPEN),
        ("I am calling because.", Ending.OPEN),
        ("Could you tell me?", Ending.OPEN),
        ("I want to know how much.", Ending.OPEN),
        ("Can you um?", Ending.FILLER),
        ("Yes, I do.", Ending.STATEMENT),
        ("Yes it is.", Ending.STATEMENT),
        ("My number is five, five, five.", Ending.DICTATION),
        ("My number is 555-412", Ending.DICTATION),
        ("You can reach me at o172334.", Ending.DICTATION),
        ("It is spelled M. I.", Ending.DICTATION),
        ("The address is twelve.", Ending.DICTATION),
        ("My date of birth is the second.", Ending.DICTATION),
        ("My phone number is 0172 3344 912.", Ending.STATEMENT),
        ("Tuesday at three thirty.", Ending.STATEMENT),
        ("A table for four.", Ending.STATEMENT),
        ("Hello, good morning.", Ending.OPENING),
        ("My name is Peter Miller.", Ending.OPENING),
        ("Yes.", Ending.ANSWER),
        ("No, thank you.", Ending.ANSWER),
        ("It is fine. Thank you. Goodbye.", Ending.ANSWER),
        ("What are your opening hours?", Ending.QUESTION),
        ("What are your opening hours.", Ending.QUESTION),
        ("That\N{RIGHT SINGLE QUOTATION MARK}s fine. When do you close?", Ending.QUESTION),
        ("I would like to book an appointment.", Ending.STATEMENT),
        ("I would like a table for four people tonight", Ending.UNMARKED),
    ],
)
def test_how_english_ends(text: str, expected: Ending) -> None:
    assert ending(text, "en-US") is expected


def test_there_is_no_opinion_of_other_languages() -> None:
    assert ending("Ich hätte gern einen", "de") is Ending.UNKNOWN
    assert ending("Ich hätte gern einen", "") is Ending.UNKNOWN
