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
        ("It is spelled C. O. O.", Ending.DICTATION),
        ("It is spelled M-I-L-L", Ending.SPELLING),
        ("That is C. O. O. P. E. R.", Ending.SPELLING),
        ("My postcode is B S one four T R.", Ending.DICTATION),
        ("My postcode is B, S, 1, 4, T, R.", Ending.DICTATION),
        ("The address is twelve.", Ending.DICTATION),
        ("My date of birth is the second.", Ending.DICTATION),
        ("My phone number is 0172 3344 912.", Ending.STATEMENT),
        ("The card is 5105 1051", Ending.DICTATION),
        ("The card is 5105 1051 0510", Ending.DICTATION),
        ("The card is 5105 1051 0510 5100.", Ending.STATEMENT),
        ("Tuesday at three thirty.", Ending.ANSWER),
        ("Half past ten.", Ending.ANSWER),
        ("On Tuesday at 3:30.", Ending.ANSWER),
        ("Nine in the morning", Ending.ANSWER),
        ("In the morning I have no time.", Ending.STATEMENT),
        ("Tuesday at the", Ending.OPEN),
        ("Half past", Ending.UNMARKED),
        ("On Saturday?", Ending.QUESTION),
        ("A table for four.", Ending.STATEMENT),
        ("Hello, good morning.", Ending.OPENING),
        ("My name is Peter Miller.", Ending.OPENING),
        ("Yes.", Ending.PREFACE),
        ("It is fine. Thank you.", Ending.PREFACE),
        ("All right", Ending.PREFACE),
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


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (Ending.STATEMENT, True),
        (Ending.PREFACE, True),
        (Ending.OPEN, False),
        (Ending.DICTATION, False),
        (Ending.SPELLING, True),
        (Ending.UNKNOWN, False),
    ],
)
def test_what_may_be_all(kind: Ending, whole: bool) -> None:
    assert kind.may_be_whole is whole


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Shall I book it?", True),
        ("Tuesday is free. Would that suit you?", True),
        ("On Tuesday at three, shall I book it for you? ", True),
        ("How can I help you?", False),
        ("What is your name?", False),
        ("Is it urgent? Then please hold the line.", False),
        ("You have an appointment on Monday.", False),
        ("", False),
    ],
)
def test_a_yes_is_an_answer_to_who_asked_for_one(said: str, expected: bool) -> None:
    assert ending("Yes.", "en", said) is (Ending.ANSWER if expected else Ending.PREFACE)


def test_a_greeting_answers_no_question() -> None:
    assert ending("Hello.", "en", "Shall I book it?") is Ending.OPENING


def test_there_is_no_opinion_of_other_languages() -> None:
    assert ending("Ich hätte gern einen", "de") is Ending.UNKNOWN
    assert ending("Ich hätte gern einen", "") is Ending.UNKNOWN
