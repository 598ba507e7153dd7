from collections.abc import Iterable

import pytest

from tests.unit.voice_agent.turns.listening import Line, windows
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.scorer import Evidence
from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, Heard
from voice_agent.turns.words import Ending

SETTINGS = EndpointingSettings(threshold=0.5, hard_limit_s=1.0)


class Scripted:
    """A scorer that says what it is told to and keeps what it was shown."""

    def __init__(self, score: float = 0.0) -> None:
        self.answer = score
        self.shown: list[Evidence] = []

    def score(self, evidence: Evidence) -> float:
        self.shown.append(evidence)
        return self.answer


def endpointer(scorer: Scripted) -> Endpointer:
    return Endpointer(scorer, lambda: SETTINGS, "en")


def hear(endpointer: Endpointer, heard: Iterable[Heard]) -> list[Heard]:
    """The windows after which the sound is to be looked at."""
    return [window for window in heard if endpointer.hear(window)]


def silence_until_over(endpointer: Endpointer, line: Line) -> float:
    for heard in line.silence(100):
        endpointer.hear(heard)
        if endpointer.is_over():
            return heard.silence_s
    raise AssertionError("never over")


def test_nothing_is_over_before_it_began() -> None:
    line, ours = Line(), endpointer(Scripted(1.0))
    assert hear(ours, line.silence(60)) == []
    assert not ours.is_over()
    assert not ours.open


def test_a_sure_end_is_taken_as_soon_as_its_words_are_there() -> None:
    line, ours = Line(), endpointer(Scripted(1.0))
    hear(ours, line.speech(20))
    hear(ours, line.silence(4))
    assert not ours.is_over()
    ours.read("What are your opening hours?", line.position)
    assert ours.is_over()


def test_words_from_before_the_last_speech_do_not_count() -> None:
    line, ours = Line(), endpointer(Scripted(1.0))
    hear(ours, line.speech(20))
    ours.read("What are your", line.position)
    hear(ours, line.speech(10))
    hear(ours, line.silence(10))
    assert not ours.is_over()
    assert not ours.words_are_settled


def test_however_unsure_there_is_a_limit() -> None:
    line, ours = Line(), endpointer(Scripted(0.0))
    hear(ours, line.speech(20))
    ours.read("I would like to", line.position)
    assert 1.0 <= silence_until_over(ours, line) < 1.0 + 0.033


def test_words_that_may_be_all_have_a_shorter_limit() -> None:
    settings = EndpointingSettings(threshold=0.5, hard_limit_s=1.0, whole_limit_s=0.5)
    line, ours = Line(), Endpointer(Scripted(0.0), lambda: settings, "en")
    hear(ours, line.speech(20))
    ours.read("I would like to", line.position)
    hear(ours, line.silence(windows(0.9)))
    assert not ours.is_over()
    hear(ours, line.speech(20))
    ours.read("I would like to book a table.", line.position)
    assert 0.5 <= silence_until_over(ours, line) < 0.5 + 0.033


def test_the_length_of_a_turn_counts_from_its_first_sound() -> None:
    line, scorer = Line(), Scripted(0.0)
    ours = endpointer(scorer)
    hear(ours, line.silence(100))
    hear(ours, line.speech(20))
    hear(ours, line.silence(10))
    hear(ours, line.speech(20))
    ours.read("Tuesday would be", line.position)
    hear(ours, line.silence(3))
    ours.is_over()
    assert scorer.shown[-1].speech_s == pytest.approx(50 * WINDOW_SAMPLES / RATE_HZ)


def test_what_the_agent_asked_decides_how_the_words_end() -> None:
    said, line, scorer = ["Shall I book it?"], Line(), Scripted(0.0)
    ours = Endpointer(scorer, lambda: SETTINGS, "en", lambda: said[0])
    hear(ours, line.speech(10))
    ours.read("Yes.", line.position)
    hear(ours, line.silence(3))
    ours.is_over()
    said[0] = "It is booked."
    ours.is_over()
    assert [shown.ending for shown in scorer.shown] == [Ending.ANSWER, Ending.PREFACE]


def test_the_limit_holds_without_words_as_well() -> None:
    line, ours = Line(), endpointer(Scripted(1.0))
    hear(ours, line.speech(20))
    assert silence_until_over(ours, line) >= 1.0


def test_a_pause_is_scored_again_and_again() -> None:
    line, scorer = Line(), Scripted(0.0)
    ours = endpointer(scorer)
    hear(ours, line.speech(20))
    ours.read("I would like to", line.position)
    for heard in line.silence(20):
        ours.hear(heard)
        ours.is_over()
    silences = [shown.silence_s for shown in scorer.shown]
    assert silences == sorted(silences)
    assert len(silences) > 15
    assert {shown.ending for shown in scorer.shown} == {Ending.OPEN}


def test_the_sound_is_looked_at_every_six_windows_and_not_between_words() -> None:
    line, ours = Line(), endpointer(Scripted())
    hear(ours, line.speech(20))
    assert hear(ours, line.silence(5)) == []
    hear(ours, line.speech(20))
    looks = [heard.silence_s for heard in hear(ours, line.silence(20))]
    assert looks == [0.192, 0.384, 0.576]


def test_an_opinion_from_before_the_caller_went_on_is_forgotten() -> None:
    line, scorer = Line(), Scripted(0.0)
    ours = endpointer(scorer)
    hear(ours, line.speech(20))
    (look,) = hear(ours, line.silence(6))
    hear(ours, line.speech(5))
    ours.look(0.9, look.position)
    ours.read("I would like", line.position)
    hear(ours, line.silence(4))
    ours.is_over()
    assert scorer.shown[-1].sound is None
    ours.look(0.8, line.position)
    ours.is_over()
    assert scorer.shown[-1].sound == 0.8


def test_the_pauses_of_a_caller_are_learned() -> None:
    line, scorer = Line(), Scripted(0.0)
    ours = endpointer(scorer)
    for _ in range(4):
        hear(ours, line.speech(10))
        hear(ours, line.silence(windows(0.8)))
    ours.read("and then", line.position)
    ours.is_over()
    assert scorer.shown[-1].usual_pause_s > 0.55


def test_a_turn_that_is_over_leaves_nothing_to_the_next() -> None:
    line, ours = Line(), endpointer(Scripted(1.0))
    hear(ours, line.speech(20))
    ours.read("Hello.", line.position)
    hear(ours, line.silence(3))
    assert ours.is_over()
    ours.close()
    assert not ours.is_over()
    assert ours.text == ""
    hear(ours, line.speech(20))
    hear(ours, line.silence(10))
    assert not ours.is_over()


def test_the_end_of_a_turn_that_was_reopened_was_a_pause() -> None:
    line, scorer = Line(), Scripted(0.0)
    ours = endpointer(scorer)
    hear(ours, line.speech(20))
    hear(ours, line.silence(windows(0.9)))
    ours.close()
    ours.reopen()
    assert ours.open
    hear(ours, line.speech(5))
    ours.read("more", line.position)
    hear(ours, line.silence(3))
    ours.is_over()
    assert scorer.shown[-1].usual_pause_s > 0.5


def test_settings_are_asked_for_each_time() -> None:
    settings = [SETTINGS]
    line, ours = Line(), Endpointer(Scripted(0.0), lambda: settings[0], "en")
    hear(ours, line.speech(20))
    settings[0] = EndpointingSettings(threshold=0.5, hard_limit_s=0.2)
    assert silence_until_over(ours, line) * RATE_HZ >= 0.2 * RATE_HZ
