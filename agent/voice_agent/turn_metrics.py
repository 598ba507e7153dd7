"""Measures every turn: a log line, Prometheus histograms, and a report to the caller's client.

A turn of the agent is one LiveKit speech handle: everything said in answer to the caller, tool
calls in between included. The framework leaves its figures on the chat messages; here they are
collected when the speech is over, so that the text is what was really spoken.
"""

import logging
from collections.abc import Callable, Iterable

from livekit.agents import (
    AgentSession,
    ConversationItemAddedEvent,
    SpeechCreatedEvent,
)
from livekit.agents.llm import ChatItem, ChatMessage
from livekit.agents.voice import SpeechHandle
from prometheus_client import Counter, Histogram

from voice_agent.turn_report import TurnReport, TurnStages

logger = logging.getLogger(__name__)

MAX_REPORTED_CHARACTERS = 4000
"""Longest text in a report; a stream of text has a price for a phone on a slow network."""

E2E_LATENCY = Histogram(
    "agent_turn_e2e_latency_seconds",
    "End of the caller's speech to the first frame of the answer, as the worker sees it",
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0),
)
STAGE_SECONDS = Histogram(
    "agent_turn_stage_seconds",
    "Delays inside one turn",
    ("stage",),
    buckets=(0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 2.0, 5.0),
)
INTERRUPTIONS = Counter("agent_interruptions_total", "Answers that the caller interrupted")
TURNS = Counter("agent_turns_total", "Answers given to callers, the greeting included")

Publish = Callable[[TurnReport], None]


class TurnMeter:
    """Watches one session and hands a report on after each thing that the agent said.

    Args:
        publish: Takes each report.
        caller_is_present: False once the caller has hung up: what that cuts short is no
            interruption.
    """

    def __init__(self, publish: Publish, caller_is_present: Callable[[], bool]) -> None:
        self._publish = publish
        self._caller_is_present = caller_is_present
        self._turn = 0
        self._heard: list[ChatMessage] = []

    def attach(self, session: AgentSession) -> None:
        """Begin to watch; call before the session starts, or the greeting is missed."""
        session.on("conversation_item_added", self._on_item_added)
        session.on("speech_created", self._on_speech_created)

    def _on_item_added(self, event: ConversationItemAddedEvent) -> None:
        if isinstance(event.item, ChatMessage) and event.item.role == "user":
            if not self._heard:
                self._turn += 1
            self._heard.append(event.item)

    def _on_speech_created(self, event: SpeechCreatedEvent) -> None:
        event.speech_handle.add_done_callback(self._on_speech_done)

    def _on_speech_done(self, speech: SpeechHandle) -> None:
        said = _assistant_messages(speech.chat_items)
        if not said:
            # speculation that was thrown away, or interrupted before its first sound
            return
        report = make_report(self._turn, self._heard, said)
        self._heard = []
        _observe(report, hung_up=not self._caller_is_present())
        self._publish(report)


def make_report(turn: int, heard: list[ChatMessage], said: list[ChatMessage]) -> TurnReport:
    """Join the messages of one turn.

    Args:
        turn: Its number.
        heard: What the caller said since the last answer; may be empty.
        said: The agent's messages, at least one; the first holds the figures that count.
    """
    user = heard[-1].metrics if heard else {}
    assistant = said[0].metrics
    return TurnReport(
        turn=turn,
        user_text=_text(heard),
        agent_text=_text(said),
        interrupted=any(message.interrupted for message in said),
        stages=TurnStages(
            transcription_delay_s=user.get("transcription_delay"),
            end_of_turn_delay_s=user.get("end_of_turn_delay"),
            llm_ttft_s=assistant.get("llm_node_ttft"),
            tts_ttfb_s=assistant.get("tts_node_ttfb"),
            e2e_latency_s=assistant.get("e2e_latency"),
        ),
    )


def _assistant_messages(items: Iterable[ChatItem]) -> list[ChatMessage]:
    return [item for item in items if isinstance(item, ChatMessage) and item.role == "assistant"]


def _text(messages: list[ChatMessage]) -> str:
    joined = " ".join(message.text_content or "" for message in messages).strip()
    return joined[:MAX_REPORTED_CHARACTERS]


def _observe(report: TurnReport, *, hung_up: bool) -> None:
    TURNS.inc()
    if report.interrupted and not hung_up:
        INTERRUPTIONS.inc()
    stages = report.stages.model_dump(exclude_none=True)
    for name, seconds in stages.items():
        if name == "e2e_latency_s":
            E2E_LATENCY.observe(max(seconds, 0.0))
        else:
            STAGE_SECONDS.labels(stage=name.removesuffix("_s")).observe(max(seconds, 0.0))
    logger.info(
        "turn",
        extra={
            "turn": report.turn,
            "interrupted": report.interrupted,
            "hung_up": hung_up,
            **{name: round(seconds, 3) for name, seconds in stages.items()},
        },
    )
