"""Every Prometheus instrument of the door before vLLM. Base units; dimensions are labels."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_LATENCY_BUCKETS_S = (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
"""Around the budget of a turn: 40 ms alone, 140 ms under load."""


class Metrics:
    """The instruments of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.active = Gauge(
            "language_requests_active",
            "Requests being answered now.",
            ["replica", "priority"],
            registry=self.registry,
        )
        self.places = Gauge(
            "language_requests_capacity",
            "Requests that may be answered at once.",
            ["replica", "priority"],
            registry=self.registry,
        )
        self.requests = Counter(
            "language_requests_total",
            "Requests let in, by how they ended (completed, cancelled, failed, timed_out).",
            ["priority", "outcome"],
            registry=self.registry,
        )
        self.refused = Counter(
            "language_requests_refused_total",
            "Requests refused at admission (full, rate, unavailable).",
            ["priority", "reason"],
            registry=self.registry,
        )
        self.errors = Counter(
            "language_errors_total", "Errors told to clients.", ["code"], registry=self.registry
        )
        self.ttft = Histogram(
            "language_ttft_seconds",
            "Time from a read request to the first byte of its answer.",
            ["priority"],
            buckets=_LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self.ready = Gauge(
            "language_replica_ready",
            "1 while a copy of the model is loaded and answers.",
            ["replica"],
            registry=self.registry,
        )
        self.restarts = Counter(
            "language_replica_restarts_total",
            "How often a copy of the model died or hung and was started again.",
            ["replica"],
            registry=self.registry,
        )
        self.computed = Gauge(
            "language_replica_computed_tokens",
            "Tokens that a copy of the model had computed since it started, when last looked at.",
            ["replica"],
            registry=self.registry,
        )
        self.touches = Counter(
            "language_prefix_touches_total",
            "Requests made to keep a prompt's prefix cached, by whether it was (hit, miss).",
            ["result"],
            registry=self.registry,
        )


class Pages(Collector):
    """Metrics of several vLLM, each family once.

    Args:
        families: of each vLLM.
    """

    def __init__(self, families: Iterable[Iterator[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """One family with the samples of all."""
        joined: dict[str, Metric] = {}
        for page in self._families:
            for family in page:
                if family.name in joined:
                    joined[family.name].samples += family.samples
                else:
                    joined[family.name] = family
        return iter(joined.values())
