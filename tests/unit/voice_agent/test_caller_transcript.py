"""Words land in the turn in which they began."""

from voice_agent.caller.transcript import GREETING_TURN, Speaker, Transcript


def test_interims_replace_each_other_and_the_final_stays() -> None:
    transcript = Transcript()
    transcript.begin_turn(1)
    transcript.update("a", Speaker.CALLER, "When is", final=False)
    transcript.update("a", Speaker.CALLER, "When is my appointment?", final=True)
    # streams are read side by side: an interim may be read after the final text
    transcript.update("a", Speaker.CALLER, "When is my", final=False)
    assert transcript.words(Speaker.CALLER, 1) == "When is my appointment?"


def test_segments_of_a_turn_are_joined_in_order_and_sides_kept_apart() -> None:
    transcript = Transcript()
    transcript.update("g", Speaker.AGENT, "Hello.", final=False)
    transcript.begin_turn(1)
    transcript.update("b", Speaker.AGENT, " One moment.\n", final=False)
    transcript.update("u", Speaker.CALLER, "Book it.", final=True)
    transcript.update("c", Speaker.AGENT, "It is booked.", final=True)
    assert transcript.words(Speaker.AGENT, GREETING_TURN) == "Hello."
    assert transcript.words(Speaker.AGENT, 1) == "One moment. It is booked."
    assert transcript.words(Speaker.CALLER, 1) == "Book it."
    assert transcript.words(Speaker.CALLER, 2) == ""


def test_a_segment_belongs_to_the_turn_in_which_it_began() -> None:
    transcript = Transcript()
    transcript.begin_turn(1)
    transcript.update("a", Speaker.AGENT, "We are", final=False)
    transcript.begin_turn(2)
    transcript.update("a", Speaker.AGENT, "We are open.", final=True)
    assert transcript.words(Speaker.AGENT, 1) == "We are open."
    assert transcript.words(Speaker.AGENT, 2) == ""
