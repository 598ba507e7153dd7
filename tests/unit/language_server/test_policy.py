"""What the responder says to a caller, sentence by sentence."""

from itertools import pairwise

import pytest

from tests.unit.language_server.front_desk import BOOK, AppointmentBook, Call


def test_the_demo_conversation() -> None:
    call = Call()
    assert "help" in call.say("Hello.")
    hours = call.say("What are your opening hours?")
    assert "Monday to Thursday from eight a.m. to six p.m." in hours
    assert "Friday from eight a.m. to two p.m." in hours
    assert "three thirty p.m." in call.say(BOOK)
    assert call.book.appointments["1"] == {
        "appointment_id": "1",
        "name": "Peter Miller",
        "day": "2026-11-24",
        "time": "15:30",
    }
    when = call.say("When is my appointment?")
    assert "Tuesday the 24th of November at three thirty p.m." in when
    assert "Goodbye" in call.say("Thank you, goodbye.")
    assert call.book.ended
    assert [name for name, _ in call.calls] == [
        "opening_hours",
        "book_appointment",
        "find_appointment",
        "end_call",
    ]


@pytest.mark.parametrize(
    "heard",
    [
        "I would like to look an appointment on Tuesday at 330. My name is Peter Miller.",
        "I'd like to book and appointment on Tuesday at 3:30, my name is Peter Miller",
        "i would like to book a pointment on two's day at half past three my name is peter miller",
        "I would like to book an appointment on Tuesday, at 3.30 p.m. My name as Peter Miller.",
    ],
)
def test_a_misheard_booking_is_booked_at_once(heard: str) -> None:
    call = Call()
    call.say(heard)
    arguments = {"name": "Peter Miller", "day": "2026-11-24", "time": "15:30"}
    assert call.calls == [("book_appointment", arguments)]


def test_what_lacks_is_asked_for_bit_by_bit() -> None:
    call = Call()
    assert "day and time" in call.say("I need an appointment, I have a toothache")
    assert "nine a.m." in call.say("on Wednesday")
    assert "name" in call.say("half past three")
    assert "Done." in call.say("Peter Miller")
    assert call.calls[-1][1] == {
        "name": "Peter Miller",
        "day": "2026-11-25",
        "time": "15:30",
        "reason": "toothache",
    }


def test_a_question_in_between_does_not_lose_the_booking() -> None:
    call = Call()
    call.say("I need an appointment on Wednesday at ten")
    aside = call.say("What are your opening hours?")
    assert "We are open" in aside
    assert aside.endswith("?")
    assert "script" in call.say("Are you a robot?")
    assert "Mill Lane" in call.say("Where are you located?")
    assert "Done." in call.say("It's Zoe Smith")


def test_a_taken_time_is_answered_with_alternatives() -> None:
    book = AppointmentBook()
    Call(book).say(BOOK)
    call = Call(book)
    offer = call.say("Book me for Tuesday at 3:30, my name is Zoe Smith")
    assert "three p.m. or four p.m." in offer
    assert "four p.m." in call.say("four")
    assert book.appointments["2"]["time"] == "16:00"
    assert book.appointments["2"]["name"] == "Zoe Smith"


def test_a_closed_day_is_answered_with_the_next_open_one() -> None:
    call = Call()
    assert "Monday the 23rd" in call.say("Book me for Sunday at ten, I'm Tom Jones")
    assert "nine a.m." in call.say("yes please")
    assert "Done." in call.say("nine")
    assert call.book.appointments["1"]["day"] == "2026-11-23"


def test_moving() -> None:
    call = Call()
    call.say(BOOK)
    assert "Thursday" in call.say("Can you move it to Thursday at ten?")
    assert call.book.appointments["1"]["day"] == "2026-11-26"
    assert "ten a.m." in call.say("what time is my appointment again?")
    assert "eleven a.m." in call.say("Actually, make it eleven o'clock instead")
    assert call.book.appointments["1"]["day"] == "2026-11-26"


def test_cancelling_needs_a_yes() -> None:
    call = Call()
    call.say(BOOK)
    assert "Shall I cancel it?" in call.say("Cancel my appointment")
    assert "stays" in call.say("no")
    assert call.book.appointments
    call.say("Please cancel my appointment")
    assert "cancelled" in call.say("Yes, please.")
    assert call.book.appointments == {}


def test_of_several_appointments_the_right_one_is_cancelled() -> None:
    book = AppointmentBook()
    book.run("book_appointment", {"name": "Ann Lee", "day": "2026-11-24", "time": "15:30"})
    book.run("book_appointment", {"name": "Ann Lee", "day": "2026-11-25", "time": "09:00"})
    call = Call(book)
    assert "2 appointments" in call.say("Cancel my appointment, this is Ann Lee")
    assert "Wednesday" in call.say("the one on Wednesday")
    assert "Tuesday" in call.say("No, the one on Tuesday")
    call.say("yes")
    assert list(book.appointments) == ["2"]


def test_an_unknown_name_is_asked_for_again() -> None:
    book = AppointmentBook()
    book.run("book_appointment", {"name": "Tom Jones", "day": "2026-11-24", "time": "09:00"})
    call = Call(book)
    assert "name" in call.say("When is my appointment?")
    assert "no appointment under Bob" in call.say("Bob")
    assert "nine a.m." in call.say("Tom Jones")


def test_free_slots_lead_to_a_booking() -> None:
    call = Call()
    assert "for example" in call.say("Do you have anything free on Monday morning?")
    assert call.calls[0] == ("find_free_slots", {"day": "2026-11-23", "part_of_day": "morning"})
    call.say("the 10 30 one is good")
    assert "ten thirty a.m." in call.say("Zoe Smith")


def test_the_earliest_slot() -> None:
    call = Call()
    call.say("What is the earliest appointment you have?")
    assert call.calls[0] == ("find_free_slots", {"day": "2026-11-23"})


def test_a_person_is_fetched() -> None:
    call = Call()
    assert "call you back" in call.say("I want to talk to a real person")
    assert call.calls[0][0] == "transfer_to_human"


def test_it_says_what_it_is() -> None:
    for question in ("Are you an AI?", "What are you?", "Are you a human?"):
        answer = Call().say(question)
        assert "script" in answer
        assert "automated assistant" in answer


def test_what_it_does_not_know_it_says() -> None:
    call = Call()
    assert "do not know" in call.say("How much is a cleaning?")
    assert "call you back" in call.say("yes please")


def test_no_more_wishes_end_the_call() -> None:
    call = Call()
    call.say(BOOK)
    assert "Goodbye" in call.say("No, thank you.")
    assert call.book.ended


def test_repeating() -> None:
    call = Call()
    told = call.say(BOOK)
    assert told in call.say("Could you repeat that please?")


@pytest.mark.parametrize(
    "sentence",
    [
        "asdf qwer",
        "",
        "...",
        "What are your opening hours?",
        "When is my appointment?",
        "Shut up!",
        "Hello.",
        "Thank you.",
        "How much is it?",
        "Can you say that again?",
        "I want to talk to a person",
        "Are you a robot?",
        "Cancel my appointment",
        "Book an appointment",
        "tell me a joke",
    ],
)
def test_the_same_words_are_never_said_twice_in_a_row(sentence: str) -> None:
    call = Call()
    said = [call.say(sentence) for _ in range(6)]
    assert all(one != other for one, other in pairwise(said))
    assert all(said)


def test_after_several_misses_a_person_is_offered() -> None:
    call = Call()
    said = [call.say("purple elephants juggle") for _ in range(3)]
    assert "colleague" in said[-1]


def test_a_garbled_hello_is_a_hello() -> None:
    call = Call()
    assert "How can I help you?" in call.say("He'll love.")
    assert "not understand" in call.say("He'll love.")
