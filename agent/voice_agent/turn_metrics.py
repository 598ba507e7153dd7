"""Measures every turn: a log line, Prometheus histograms, and a report to the caller's client.

A turn of the agent is one LiveKit speech handle: everything said in answer to the caller, tool
calls in between included. The framework leaves its figures on the chat messages; here they are
collected when the speech is over, so that the text is what was really spoken.

A speech that was begun before the turn was over is a speculation. LiveKit schedules every other
speech as it creates it, so one that is not scheduled then is one; if it never is, it was discarded.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from livekit.agents import (
    AgentSession,
    ConversationItemAddedEvent,
    SpeechCreatedEvent,
)
from livekit.agents.llm import ChatItem, ChatMessage
from livekit.agents.voice import SpeechHandle
from prometheus_client import Counter, Histogram

from voice_agent.turn_report import Speculation, TurnReport, TurnStages
from voice_agent.turn_timeline import ModelRequests, offsets, overlap_s

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
OVERLAP_SECONDS = Histogram(
    "agent_turn_overlap_seconds",
    "Part of a stage that was done before the end of the turn was decided",
    ("stage",),
    buckets=(0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0),
)
SPECULATIONS = Counter(
    "agent_speculations_total",
    "Answers begun before the end of the turn was decided, by outcome (used, discarded)",
    ("outcome",),
)
SPLIT_TURNS = Counter(
    "agent_split_turns_total",
    "Turns of callers that were taken for over more than once before an answer was heard",
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
        self._requests = ModelRequests()
        self._speculative: set[str] = set()
        self._used = self._discarded = 0

    def attach(self, session: AgentSession) -> None:
        """Begin to watch; call before the session starts, or the greeting is missed."""
        session.on("conversation_item_added", self._on_item_added)
        session.on("speech_created", self._on_speech_created)
        self._requests.attach(session)

    def _on_item_added(self, event: ConversationItemAddedEvent) -> None:
        if isinstance(event.item, ChatMessage) and event.item.role == "user":
            said = event.item.text_content or ""
            if self._heard and said.startswith(self._heard[-1].text_content or " "):
                # a turn reopened: its words come again, the new ones behind them
                self._heard.pop()
            elif not self._heard:
                self._turn += 1
            self._heard.append(event.item)

    def _on_speech_created(self, event: SpeechCreatedEvent) -> None:
        speech = event.speech_handle
        speech.add_done_callback(self._on_speech_done)
        # the framework schedules it right after this event, if it does
        asyncio.get_running_loop().call_soon(self._look_whether_scheduled, speech)

    def _look_whether_scheduled(self, speech: SpeechHandle) -> None:
        if not speech.scheduled and not speech.done():
            self._speculative.add(speech.id)

    def _on_speech_done(self, speech: SpeechHandle) -> None:
        self._count_speculation(speech)
        said = _assistant_messages(speech.chat_items)
        if not said:
            # speculation that was thrown away, or interrupted before its first sound
            return
        speculation = Speculation(
            started=self._used + self._discarded, used=self._used, discarded=self._discarded
        )
        self._used = self._discarded = 0
        moments = self._requests.moments(speech.id)
        report = make_report(self._turn, self._heard, said, moments, speculation)
        self._heard = []
        _observe(report, hung_up=not self._caller_is_present())
        self._publish(report)

    def _count_speculation(self, speech: SpeechHandle) -> None:
        if speech.id not in self._speculative:
            return
        self._speculative.remove(speech.id)
        if speech.scheduled:
            self._used += 1
            SPECULATIONS.labels(outcome="used").inc()
        else:
            self._discarded += 1
            SPECULATIONS.labels(outcome="discarded").inc()


def make_report(
    turn: int,
    heard: list[ChatMessage],
    said: list[ChatMessage],
    moments: Mapping[str, float] | None = None,
    speculation: Speculation | None = None,
) -> TurnReport:
    """Join the messages of one turn.

    Args:
        turn: Its number.
        heard: What the caller said since the last answer; may be empty.
        said: The agent's messages, at least one; the first holds the figures that count.
        moments: When the models were asked and answered, of `ModelRequests.moments`.
        speculation: What was begun ahead since the last report.
    """
    user: Mapping[str, Any] = heard[-1].metrics if heard else {}
    assistant: Mapping[str, Any] = said[0].metrics
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
            **offsets(user, assistant, moments or {}),
        ),
        user_turns=len(heard),
        speculation=speculation or Speculation(),
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
    if report.user_turns > 1:
        SPLIT_TURNS.inc()
    stages = report.stages.model_dump(exclude_none=True)
    for name, seconds in stages.items():
        if name == "e2e_latency_s":
            E2E_LATENCY.observe(max(seconds, 0.0))
        elif not name.endswith("_at_s"):
            STAGE_SECONDS.labels(stage=name.removesuffix("_s")).observe(max(seconds, 0.0))
    overlaps = _overlaps(report.stages)
    for stage, seconds in overlaps.items():
        OVERLAP_SECONDS.labels(stage=stage).observe(seconds)
    logger.info(
        "turn",
        extra={
            "turn": report.turn,
            "user_turns": report.user_turns,
            "interrupted": report.interrupted,
            "hung_up": hung_up,
            **{name: round(seconds, 3) for name, seconds in stages.items()},
            **{f"{stage}_overlap_s": round(seconds, 3) for stage, seconds in overlaps.items()},
            "speculations_used": report.speculation.used,
            "speculations_discarded": report.speculation.discarded,
        },
    )


def _overlaps(stages: TurnStages) -> dict[str, float]:
    """What of the model's and the voice's waiting was hidden behind the caller's pause."""
    if stages.committed_at_s is None:
        return {}
    spans = {
        "llm": (stages.llm_began_at_s, stages.llm_first_token_at_s),
        "tts": (stages.tts_began_at_s, stages.tts_first_audio_at_s),
    }
    return {
        stage: overlap_s(began_s, ended_s, stages.committed_at_s)
        for stage, (began_s, ended_s) in spans.items()
        if began_s is not None and ended_s is not None
    }
