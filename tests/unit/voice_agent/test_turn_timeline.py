import time

import pytest
from livekit.agents.metrics import LLMMetrics, TTSMetrics

from voice_agent.turn_timeline import MAX_REQUESTS, ModelRequests, offsets, overlap_s

NOW_S = time.time()


def model(speech_id: str, began_s: float, ttft_s: float = 0.04) -> LLMMetrics:
    return LLMMetrics(
        label="llm",
        request_id="",
        timestamp=NOW_S + began_s + 1.0,
        duration=1.0,
        ttft=ttft_s,
        cancelled=False,
        completion_tokens=0,
        prompt_tokens=0,
        prompt_cached_tokens=0,
        total_tokens=0,
        tokens_per_second=0.0,
        speech_id=speech_id,
    )


def voice(speech_id: str, began_s: float, ttfb_s: float = 0.06) -> TTSMetrics:
    return TTSMetrics(
        label="tts",
        request_id="",
        timestamp=NOW_S + began_s + 2.0,
        duration=2.0,
        ttfb=ttfb_s,
        audio_duration=2.0,
        cancelled=False,
        characters_count=20,
        streamed=True,
        speech_id=speech_id,
    )


def remembered(*metrics: object) -> ModelRequests:
    requests = ModelRequests()
    for one in metrics:
        requests._on_metrics(one)
    return requests


def test_the_first_request_of_a_speech_counts() -> None:
    # a tool call asks the model twice, and metrics come when a stream ends, not when it begins
    requests = remembered(model("a", 0.5), model("a", 0.1), voice("a", 0.2), model("b", 0.0))
    assert requests.moments("a") == pytest.approx(
        {
            "llm_began": NOW_S + 0.1,
            "llm_first_token": NOW_S + 0.14,
            "tts_began": NOW_S + 0.2,
            "tts_first_audio": NOW_S + 0.26,
        }
    )


def test_a_request_that_gave_nothing_is_none() -> None:
    assert remembered(model("a", 0.0, ttft_s=-1.0)).moments("a") == {}


def test_what_is_no_request_is_passed_over() -> None:
    assert remembered(object(), model("a", 0.0)).moments("b") == {}


def test_old_requests_are_forgotten() -> None:
    requests = remembered(model("a", 0.0), *(model("b", 0.0) for _ in range(MAX_REQUESTS)))
    assert requests.moments("a") == {}


def test_without_speech_there_is_no_last_sound_to_count_from() -> None:
    assert offsets({}, {"started_speaking_at": NOW_S}, {"llm_began": NOW_S}) == {}


@pytest.mark.parametrize(
    ("began_s", "ended_s", "decided_s", "overlap"),
    [
        (0.1, 0.2, 0.3, 0.1),  # all of it was ahead
        (0.1, 0.4, 0.3, 0.2),  # a part
        (0.3, 0.4, 0.2, 0.0),  # nothing: one after the other
    ],
)
def test_overlap_is_what_was_done_ahead(
    began_s: float, ended_s: float, decided_s: float, overlap: float
) -> None:
    assert overlap_s(began_s, ended_s, decided_s) == pytest.approx(overlap)
