"""What requests to the language model came to: cached prompt tokens, and how they ended."""

from typing import Final, Literal

from livekit.agents.metrics import LLMMetrics
from prometheus_client import Counter, Histogram

from speech_plugins.priority import Priority

Outcome = Literal["completed", "cancelled", "failed"]

PROMPT_TOKENS: Final = Counter(
    "agent_llm_prompt_tokens_total",
    "Prompt tokens of answers, by where their state came from (cached, computed)",
    ("source",),
)
CACHED_RATIO: Final = Histogram(
    "agent_llm_cached_prompt_ratio",
    "Share of an answer's prompt that the model server had in its cache",
    buckets=(0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0),
)
REQUESTS: Final = Counter(
    "agent_llm_requests_total",
    "Requests to the language model, by priority and how they ended (completed, cancelled, failed)",
    ("priority", "outcome"),
)


def observe_usage(metrics: LLMMetrics) -> None:
    """Count the prompt of an answer; one that was cut short brings no figures."""
    if metrics.prompt_tokens <= 0:
        return
    cached = min(metrics.prompt_cached_tokens, metrics.prompt_tokens)
    PROMPT_TOKENS.labels("cached").inc(cached)
    PROMPT_TOKENS.labels("computed").inc(metrics.prompt_tokens - cached)
    CACHED_RATIO.observe(cached / metrics.prompt_tokens)


def observe_end(priority: Priority, outcome: Outcome) -> None:
    """Count one attempt of a request."""
    REQUESTS.labels(priority.name.lower(), outcome).inc()
