from collections.abc import Callable
from typing import Any, cast

import pytest
from livekit import rtc
from livekit.agents import (
    AgentSession,
    AgentStateChangedEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
    llm,
)
from livekit.agents.voice.events import ConversationItemAddedEvent

from voice_agent.silence import PATIENT_WAITS, SilenceWatch


class Line(rtc.EventEmitter[Any]):
    """The session's events, put in by hand, and what the watch does about them."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.watch = SilenceWatch(
            cast(AgentSession, self),
            ask=lambda: self.done.append("ask"),
            give_up=lambda: self.done.append("give up"),
        )
        self.watch.attach()

    def reset_away_timer(self) -> None:
        self.done.append("wait")

    def caller_is(self, state: Any) -> None:
        event = UserStateChangedEvent(old_state="listening", new_state=state)
        self.emit("user_state_changed", event)

    def agent_is(self, state: Any) -> None:
        event = AgentStateChangedEvent(old_state="listening", new_state=state)
        self.emit("agent_state_changed", event)

    def hear(self, words: str, *, final: bool) -> None:
        event = UserInputTranscribedEvent(transcript=words, is_final=final)
        self.emit("user_input_transcribed", event)

    def take_turn(self, words: str = "Hours?") -> None:
        item = llm.ChatMessage(role="user", content=[words])
        self.emit("conversation_item_added", ConversationItemAddedEvent(item=item))


@pytest.fixture
def line() -> Line:
    return Line()


SIGNS: dict[str, Callable[[Line], None]] = {
    "a sound": lambda line: line.caller_is("speaking"),
    "a transcript not final": lambda line: line.hear("What are", final=False),
    "a final transcript": lambda line: line.hear("What are your hours?", final=True),
    "a turn without its answer": Line.take_turn,
}


@pytest.mark.parametrize("sign", SIGNS)
def test_a_caller_who_waits_for_an_answer_is_not_asked(line: Line, sign: str) -> None:
    SIGNS[sign](line)
    line.caller_is("away")
    assert line.done == ["wait"]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sound_that_was_no_word_delays_the_question_once(line: Line, sign: str) -> None:
    SIGNS[sign](line)
    line.caller_is("away")
    line.caller_is("away")
    assert line.done == ["wait", "ask"]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_caller_who_has_their_answer_is_asked(line: Line, sign: str) -> None:
    SIGNS[sign](line)
    line.agent_is("thinking")
    line.agent_is("speaking")
    line.agent_is("listening")
    line.caller_is("away")
    assert line.done == ["ask"]


def answered(line: Line) -> None:
    line.agent_is("speaking")
    line.agent_is("listening")


def test_a_caller_who_asked_for_a_moment_has_one(line: Line) -> None:
    line.take_turn("Hold on, I will look for it.")
    answered(line)
    for _ in range(PATIENT_WAITS + 1):
        line.caller_is("away")
    assert line.done == ["wait"] * PATIENT_WAITS + ["ask"]


def test_the_moment_is_over_when_the_caller_is_back(line: Line) -> None:
    line.take_turn("Hold on, I will look for it.")
    answered(line)
    line.take_turn("It is 352986.")
    answered(line)
    line.caller_is("away")
    assert line.done == ["ask"]


def test_an_empty_transcript_is_no_sign_of_a_caller(line: Line) -> None:
    line.hear("", final=False)
    line.caller_is("away")
    assert line.done == ["ask"]


def test_words_spoken_over_an_answer_are_owed_one_of_their_own(line: Line) -> None:
    line.take_turn()
    line.agent_is("speaking")
    line.caller_is("speaking")
    line.caller_is("away")
    assert line.done == ["wait"]


def test_a_caller_who_says_nothing_is_asked_and_then_let_go(line: Line) -> None:
    line.agent_is("speaking")
    line.caller_is("away")
    line.agent_is("speaking")
    line.watch.asked()
    line.caller_is("listening")
    line.caller_is("away")
    assert line.done == ["ask", "wait", "give up"]


def test_each_time_that_the_caller_is_heard_allows_one_longer_wait(line: Line) -> None:
    for _ in range(2):
        line.caller_is("speaking")
        line.caller_is("away")
        line.caller_is("listening")
    assert line.done == ["wait", "wait"]
