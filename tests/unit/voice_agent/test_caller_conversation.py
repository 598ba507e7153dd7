from types import SimpleNamespace
from typing import Any, cast

from voice_agent.caller.conversation import Conversation, Limits
from voice_agent.caller.report import Turn
from voice_agent.caller.room import AgentRoom
from voice_agent.caller.transcript import Transcript
from voice_agent.turn_report import TurnReport, TurnStages


def report(turn: int, heard: str, **fields: Any) -> TurnReport:
    return TurnReport(
        **{
            "turn": turn,
            "user_text": heard,
            "agent_text": "",
            "interrupted": False,
            "stages": TurnStages(),
            **fields,
        }
    )


def described(*reports: TurnReport, arrived_s: float = 2.0) -> Turn:
    """A turn that began at 1 s, and what the conversation makes of these reports."""
    room = SimpleNamespace(
        transcript=Transcript(), reports=[(arrived_s, report) for report in reports]
    )
    conversation = Conversation(
        cast(AgentRoom, room), Limits(), on_greeting=lambda _: None, on_turn=lambda _: None
    )
    turn = Turn(turn=1, kind="voice", said="Hours?")
    conversation._describe(turn, began_s=1.0)
    return turn


def test_the_figures_are_those_of_the_answer() -> None:
    turn = described(
        report(1, "", stages=TurnStages(tts_ttfb_s=9.0)),
        report(2, "Hours?", stages=TurnStages(tts_ttfb_s=0.1)),
        report(2, "", interrupted=True),
    )
    assert turn.stages == TurnStages(tts_ttfb_s=0.1)
    assert turn.heard_by_agent == "Hours?"
    assert turn.interrupted


def test_what_is_said_unasked_counts_where_nothing_else_came() -> None:
    turn = described(report(1, "", stages=TurnStages(tts_ttfb_s=9.0)))
    assert turn.stages == TurnStages(tts_ttfb_s=9.0)


def test_the_greeting_and_what_came_before_are_no_part_of_a_turn() -> None:
    assert described(report(0, "")).stages is None
    assert described(report(1, "Hello"), arrived_s=0.5).stages is None
