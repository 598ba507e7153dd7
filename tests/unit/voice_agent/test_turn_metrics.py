import asyncio
import logging
import time
from typing import Any

import pytest
from livekit.agents import AgentSession
from livekit.agents.llm import ChatItem, ChatMessage, FunctionCall
from livekit.agents.metrics import LLMMetrics
from livekit.agents.voice import SpeechHandle
from livekit.agents.voice.events import ConversationItemAddedEvent, SpeechCreatedEvent
from prometheus_client import REGISTRY

from tests.unit.voice_agent.scripted_llm import ScriptedLLM
from voice_agent.turn_metrics import MAX_REPORTED_CHARACTERS, TurnMeter, make_report
from voice_agent.turn_report import TurnReport


def user(text: str, **metrics: float) -> ChatMessage:
    return ChatMessage(role="user", content=[text], metrics=metrics)


def assistant(text: str, *, interrupted: bool = False, **metrics: float) -> ChatMessage:
    return ChatMessage(
        role="assistant",
        content=[text],
        interrupted=interrupted,
        metrics=metrics,
    )


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Bench:
    """A meter on a session that nothing runs in: events are put in by hand."""

    def __init__(self) -> None:
        self.reports: list[TurnReport] = []
        self.session: AgentSession = AgentSession(
            llm=ScriptedLLM(), vad=None, turn_handling={"turn_detection": None}
        )
        self.caller_is_present = True
        TurnMeter(self.reports.append, lambda: self.caller_is_present).attach(self.session)

    def hear(self, message: ChatMessage) -> None:
        self.session.emit("conversation_item_added", ConversationItemAddedEvent(item=message))

    def speak(self, *items: ChatItem) -> None:
        self.end(self.begin(), *items)

    def begin(self) -> Any:
        handle: Any = SpeechHandle.create()
        self.session.emit(
            "speech_created",
            SpeechCreatedEvent(speech_handle=handle, user_initiated=False, source="say"),
        )
        return handle

    async def speculate(self) -> Any:
        """A speech that is not scheduled while the loop goes on."""
        handle = self.begin()
        await asyncio.sleep(0)
        return handle

    def end(self, handle: Any, *items: ChatItem) -> None:
        handle._item_added(items)
        for callback in list(handle._done_callbacks):
            callback(handle)


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_the_greeting_is_turn_nought_and_answers_count_from_one(bench: Bench) -> None:
    bench.speak(assistant("Hello, I am a machine."))
    bench.hear(user("Hi"))
    bench.speak(assistant("How can I help?"))
    bench.hear(user("Hours?"))
    bench.speak(assistant("Eight to six."))
    assert [(r.turn, r.user_text, r.agent_text) for r in bench.reports] == [
        (0, "", "Hello, I am a machine."),
        (1, "Hi", "How can I help?"),
        (2, "Hours?", "Eight to six."),
    ]


async def test_a_turn_with_a_tool_call_is_one_report(bench: Bench) -> None:
    bench.hear(user("Book me in", transcription_delay=0.1, end_of_turn_delay=0.2))
    bench.speak(
        assistant("One moment.", llm_node_ttft=0.03, tts_node_ttfb=0.06, e2e_latency=0.3),
        FunctionCall(call_id="1", name="book_appointment", arguments="{}"),
        assistant("Booked.", llm_node_ttft=9.0, e2e_latency=9.0),
    )
    (report,) = bench.reports
    assert report.agent_text == "One moment. Booked."
    assert report.stages.model_dump(exclude_none=True) == {
        "transcription_delay_s": 0.1,
        "end_of_turn_delay_s": 0.2,
        "llm_ttft_s": 0.03,
        "tts_ttfb_s": 0.06,
        "e2e_latency_s": 0.3,
    }


async def test_what_the_framework_did_not_measure_is_none(bench: Bench) -> None:
    bench.hear(user("typed"))
    bench.speak(assistant("Yes."))
    assert set(bench.reports[0].stages.model_dump().values()) == {None}


async def test_speculation_that_nobody_heard_is_no_turn(bench: Bench) -> None:
    bench.hear(user("I would like"))
    bench.speak()
    bench.hear(user("to book"))
    bench.speak(assistant("Of course."))
    (report,) = bench.reports
    assert (report.turn, report.user_text) == (1, "I would like to book")


async def test_what_was_begun_ahead_and_thrown_away_is_told_with_the_turn(bench: Bench) -> None:
    before = {o: sample("agent_speculations_total", outcome=o) for o in ("used", "discarded")}
    bench.end(await bench.speculate())
    bench.end(await bench.speculate())
    answer = await bench.speculate()
    answer._mark_scheduled()
    bench.hear(user("to book a table"))
    bench.end(answer, assistant("Of course."))
    bench.speak(assistant("Are you still there?"))
    told = [report.speculation.model_dump() for report in bench.reports]
    assert told == [
        {"started": 3, "used": 1, "discarded": 2},
        {"started": 0, "used": 0, "discarded": 0},
    ]
    assert sample("agent_speculations_total", outcome="used") == before["used"] + 1
    assert sample("agent_speculations_total", outcome="discarded") == before["discarded"] + 2


async def test_a_speech_that_is_scheduled_as_it_is_made_is_no_speculation(bench: Bench) -> None:
    answer = bench.begin()
    answer._mark_scheduled()
    await asyncio.sleep(0)
    bench.end(answer, assistant("Eight to six."))
    assert bench.reports[0].speculation.started == 0


async def test_a_turn_taken_for_over_twice_is_split(bench: Bench) -> None:
    before = sample("agent_split_turns_total")
    bench.hear(user("I would like"))
    bench.hear(user("to book"))
    bench.speak(assistant("Of course."))
    bench.hear(user("Today"))
    bench.speak(assistant("Yes."))
    assert [report.user_turns for report in bench.reports] == [2, 1]
    assert sample("agent_split_turns_total") == before + 1


async def test_moments_count_from_the_callers_last_sound(bench: Bench) -> None:
    before = sample("agent_turn_overlap_seconds_sum", stage="llm")
    end_s = time.time()
    answer = bench.begin()
    model = bench.session.llm
    assert isinstance(model, ScriptedLLM)
    metrics = llm_metrics(began_s=end_s - 0.1, ttft_s=0.15)
    model.emit("metrics_collected", metrics)
    metrics.speech_id = answer.id  # the framework adds it after the first listener has the object
    bench.hear(
        user("Hours?", stopped_speaking_at=end_s, transcription_delay=0.06, end_of_turn_delay=0.2)
    )
    bench.end(answer, assistant("Eight.", started_speaking_at=end_s + 0.3))
    stages = bench.reports[0].stages
    assert stages.llm_began_at_s == pytest.approx(-0.1, abs=1e-3)
    assert stages.llm_first_token_at_s == pytest.approx(0.05, abs=1e-3)
    assert stages.transcript_at_s == 0.06
    assert stages.committed_at_s == 0.2
    assert stages.audio_out_at_s == pytest.approx(0.3, abs=1e-3)
    assert stages.tts_began_at_s is None
    overlap = sample("agent_turn_overlap_seconds_sum", stage="llm") - before
    assert overlap == pytest.approx(0.15, abs=1e-3)


def llm_metrics(began_s: float, ttft_s: float) -> LLMMetrics:
    duration_s = 0.5
    return LLMMetrics(
        label="llm",
        request_id="1",
        timestamp=began_s + duration_s,
        duration=duration_s,
        ttft=ttft_s,
        cancelled=False,
        completion_tokens=1,
        prompt_tokens=1,
        prompt_cached_tokens=0,
        total_tokens=2,
        tokens_per_second=1.0,
    )


async def test_an_interrupted_answer_is_cut_and_counted(bench: Bench) -> None:
    before = sample("agent_interruptions_total")
    bench.hear(user("Hours?"))
    bench.speak(assistant("We are open from", interrupted=True))
    assert bench.reports[0].interrupted
    assert bench.reports[0].agent_text == "We are open from"
    assert sample("agent_interruptions_total") == before + 1


async def test_what_a_hang_up_cuts_short_is_no_interruption(bench: Bench) -> None:
    before = sample("agent_interruptions_total")
    bench.hear(user("Hours?"))
    bench.caller_is_present = False
    bench.speak(assistant("We are open from", interrupted=True))
    assert sample("agent_interruptions_total") == before


async def test_what_is_said_unasked_follows_the_turn_before(bench: Bench) -> None:
    bench.hear(user("Hours?"))
    bench.speak(assistant("Eight to six."))
    bench.speak(assistant("Are you still there?"))
    bench.hear(user("Yes"))
    bench.speak(assistant("Good."))
    assert [(r.turn, r.user_text) for r in bench.reports] == [(1, "Hours?"), (1, ""), (2, "Yes")]


async def test_histograms_count_every_stage(bench: Bench) -> None:
    before_e2e = sample("agent_turn_e2e_latency_seconds_count")
    before_llm = sample("agent_turn_stage_seconds_sum", stage="llm_ttft")
    bench.hear(user("Hours?"))
    bench.speak(assistant("Eight.", llm_node_ttft=0.25, e2e_latency=0.4))
    assert sample("agent_turn_e2e_latency_seconds_count") == before_e2e + 1
    assert sample("agent_turn_stage_seconds_sum", stage="llm_ttft") == before_llm + 0.25


async def test_the_log_line_holds_figures_and_no_words(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "voice_agent.turn_metrics"):
        bench.hear(user("my secret illness", end_of_turn_delay=0.2))
        bench.speak(assistant("your secret diagnosis", e2e_latency=0.4))
    (record,) = [r for r in caplog.records if r.name == "voice_agent.turn_metrics"]
    assert record.__dict__["e2e_latency_s"] == 0.4
    assert "secret" not in str(record.__dict__)


def test_a_report_is_bounded() -> None:
    report = make_report(1, [user("x" * 100_000)], [assistant("y" * 100_000)])
    assert len(report.user_text) == len(report.agent_text) == MAX_REPORTED_CHARACTERS
