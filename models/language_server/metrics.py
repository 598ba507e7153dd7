"""Every Prometheus instrument of the responder. Base units; dimensions are labels."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_LATENCY_BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The script answers in milliseconds; more than a few tens would be a fault."""


class Metrics:
    """The instruments of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.active = Gauge(
            "language_requests_active", "Requests being answered now.", registry=self.registry
        )
        self.requests = Counter(
            "language_requests_total",
            "Requests answered, by how they ended (stop, tool_calls, length, cancelled).",
            ["outcome"],
            registry=self.registry,
        )
        self.errors = Counter(
            "language_errors_total", "Errors told to clients.", ["code"], registry=self.registry
        )
        self.ttft = Histogram(
            "language_ttft_seconds",
            "Time from a read request to its first token.",
            buckets=_LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self.tokens = Counter(
            "language_tokens_total",
            "Word pieces read and written.",
            ["direction"],
            registry=self.registry,
        )
