"""When each stage of a turn began and ended, counted from the caller's last sound.

The framework leaves durations on the chat messages and the moments of the caller's end, of the
transcript and of the decision. When the model and the voice were asked is in the metrics that they
emit themselves; both are put on one line of time here.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from livekit.agents import AgentSession, llm, tts
from livekit.agents.metrics import LLMMetrics, TTSMetrics

MAX_REQUESTS = 64
"""Requests remembered; a turn has a few, and those of thrown-away answers are never asked for."""


class ModelRequests:
    """The latest requests to the language model and to the voice of one session."""

    def __init__(self) -> None:
        self._requests: deque[LLMMetrics | TTSMetrics] = deque(maxlen=MAX_REQUESTS)

    def attach(self, session: AgentSession) -> None:
        """Begin to watch; call before the session starts."""
        for model in (session.llm, session.tts):
            if isinstance(model, llm.LLM | tts.TTS):
                model.on("metrics_collected", self._on_metrics)

    def _on_metrics(self, metrics: object) -> None:
        if isinstance(metrics, LLMMetrics | TTSMetrics):
            # the framework writes into this object for which speech it was, after this call
            self._requests.append(metrics)

    def moments(self, speech_id: str) -> dict[str, float]:
        """When a speech's first request of each kind began and gave its first result.

        Args:
            speech_id: of the LiveKit speech handle.

        Returns:
            Seconds on the clock of `time.time`, under the names of `TurnStages` without `_at_s`;
            what was not measured is missing.
        """
        found: dict[str, float] = {}
        for metrics in self._requests:
            if metrics.speech_id != speech_id:
                continue
            if isinstance(metrics, LLMMetrics):
                began, first, wait_s = "llm_began", "llm_first_token", metrics.ttft
            else:
                began, first, wait_s = "tts_began", "tts_first_audio", metrics.ttfb
            began_s = metrics.timestamp - metrics.duration
            if wait_s < 0 or found.get(began, began_s) < began_s:
                continue  # it gave nothing, or is not the first
            found[began], found[first] = began_s, began_s + wait_s
        return found


def offsets(
    user: Mapping[str, Any], assistant: Mapping[str, Any], moments: Mapping[str, float]
) -> dict[str, float]:
    """The `…_at_s` figures of a turn.

    Args:
        user: metrics of the caller's last message (LiveKit's `MetricsReport`).
        assistant: metrics of the answer's first message.
        moments: of `ModelRequests.moments`.

    Returns:
        Seconds after the caller's last sound; empty for what does not follow speech.
    """
    origin_s = user.get("stopped_speaking_at")
    if origin_s is None:
        return {}
    found = {f"{name}_at_s": moment_s - origin_s for name, moment_s in moments.items()}
    for name, delay in (("transcript", "transcription_delay"), ("committed", "end_of_turn_delay")):
        if delay in user:
            found[f"{name}_at_s"] = user[delay]
    if "started_speaking_at" in assistant:
        found["audio_out_at_s"] = assistant["started_speaking_at"] - origin_s
    return found


def overlap_s(began_s: float, ended_s: float, decided_s: float) -> float:
    """How much of a stage was done before the end of the turn was decided, seconds.

    Args:
        began_s: when the stage began.
        ended_s: when it ended.
        decided_s: when the turn was over; all three on one clock.
    """
    return max(0.0, min(ended_s, decided_s) - began_s)
