import pytest

from voice_agent.telephony.answer import (
    BEEP_WAIT_S,
    HELLO_S,
    MONOLOGUE_S,
    QUIET_WAIT_S,
    SILENT_S,
    WAITING_S,
    Answer,
    AnswerDetector,
)


def heard(words: str, began_s: float, ended_s: float) -> AnswerDetector:
    detector = AnswerDetector()
    detector.speech_started(began_s)
    detector.words(words, ended_s)
    detector.speech_ended(ended_s)
    return detector


@pytest.mark.parametrize(
    "words",
    ["Hello?", "Yes?", "Good morning, Miller and Sons, Peter speaking.", "Hi, this is Anna.", ""],
)
def test_a_few_words_and_a_pause_are_a_person(words: str) -> None:
    detector = heard(words, 0.5, 2.0)
    assert detector.decide(2.0) is Answer.UNKNOWN
    assert detector.decide(2.0 + WAITING_S) is Answer.PERSON


@pytest.mark.parametrize(
    "words",
    [
        "Hi, this is Anna, please leave a message after the tone.",
        "The person you are calling is not available right now.",
        "You have reached the voicemail of",
        "Sorry, I can't come to the phone",
        "We are unable to take your call",
        "The number you have dialled is no longer in service.",
        "please record your message",
        "Please leave your name and number",
    ],
)
def test_machines_say_what_machines_say(words: str) -> None:
    detector = AnswerDetector()
    detector.speech_started(0.3)
    detector.words(words, 2.0)
    assert detector.decide(2.0) is Answer.MACHINE


@pytest.mark.parametrize(
    "words",
    [
        "For sales, press one.",
        "Press 2 for support",
        "Please listen to the following options",
        "Your call is important to us",
        "If you know the extension number, dial it now",
    ],
)
def test_menus_say_what_menus_say(words: str) -> None:
    assert heard(words, 0.3, 2.0).decide(2.0) is Answer.MENU


@pytest.mark.parametrize(
    "words",
    [
        "Hello, I can't hear you",
        "Yes I am available",
        "Miller's press and print shop",
        "I was about to leave",
        "Can I call you back?",
    ],
)
def test_people_use_some_of_these_words_too(words: str) -> None:
    assert heard(words, 0.3, 2.0).decide(2.0 + WAITING_S) is Answer.PERSON


def test_who_talks_on_and_on_is_a_machine() -> None:
    detector = AnswerDetector()
    detector.speech_started(0.2)
    assert detector.decide(MONOLOGUE_S) is Answer.UNKNOWN
    assert detector.decide(0.3 + MONOLOGUE_S) is Answer.MACHINE


def test_who_takes_breath_while_talking_on_is_a_machine_too() -> None:
    detector = AnswerDetector()
    for second in range(8):
        detector.speech_started(second)
        detector.speech_ended(second + 0.8)
        detector.decide(second + 0.9)
    assert detector.decide(7.9) is Answer.MACHINE or detector.answer is Answer.UNKNOWN
    detector.speech_started(8.0)
    assert detector.decide(8.1) is Answer.MACHINE


def test_many_words_are_a_machine() -> None:
    assert heard("word " * 19, 0.2, 5.0).decide(5.0) is Answer.MACHINE


def test_a_long_greeting_and_then_a_pause_are_a_person() -> None:
    detector = heard("Good morning, you are speaking with the practice", 0.2, 0.3 + HELLO_S + 1.0)
    ended_s = 0.3 + HELLO_S + 1.0
    assert detector.decide(ended_s + WAITING_S) is Answer.UNKNOWN
    assert detector.decide(ended_s + 2 * WAITING_S) is Answer.PERSON


def test_who_says_nothing_waits_for_us() -> None:
    detector = AnswerDetector()
    assert detector.decide(SILENT_S - 0.1) is Answer.UNKNOWN
    assert detector.decide(SILENT_S) is Answer.PERSON


def test_a_person_may_turn_out_a_machine() -> None:
    detector = heard("Hi, this is Anna.", 0.2, 1.5)
    assert detector.decide(1.5 + WAITING_S) is Answer.PERSON
    detector.words("Hi, this is Anna. Leave a message after the beep.", 4.0)
    assert detector.decide(4.0) is Answer.MACHINE


def test_a_message_is_left_after_the_beep() -> None:
    detector = heard("Leave a message after the tone.", 0.2, 3.0)
    assert not detector.may_leave_message(3.5)
    detector.beep(3.8)
    assert detector.may_leave_message(3.8)


def test_a_beep_alone_is_a_machine() -> None:
    detector = AnswerDetector()
    detector.beep(2.0)
    assert detector.decide(2.0) is Answer.MACHINE
    assert detector.may_leave_message(2.0)


def test_a_beep_in_a_menu_is_part_of_the_menu() -> None:
    detector = heard("For sales, press one.", 0.2, 2.0)
    detector.beep(3.0)
    assert detector.decide(3.0) is Answer.MENU


def test_a_machine_without_a_beep_is_spoken_to_when_it_is_silent() -> None:
    detector = heard("Leave a message.", 0.2, 3.0)
    assert not detector.may_leave_message(3.0 + QUIET_WAIT_S - 0.1)
    assert detector.may_leave_message(3.0 + QUIET_WAIT_S)


def test_a_machine_that_never_stops_is_spoken_to_in_the_end() -> None:
    detector = AnswerDetector()
    detector.speech_started(0.2)
    detector.words("Leave a message after the tone.", 3.0)
    assert not detector.may_leave_message(3.0 + BEEP_WAIT_S - 0.1)
    assert detector.may_leave_message(3.0 + BEEP_WAIT_S)


def test_nobody_leaves_a_message_with_a_person() -> None:
    assert not heard("Hello?", 0.2, 1.0).may_leave_message(100.0)
