"""What a round cost the server: processor time by thread, and what its own metrics say."""

import urllib.request
from dataclasses import dataclass, field
from typing import Final

import psutil
from prometheus_client.parser import text_string_to_metric_families

_TIMEOUT_S: Final = 10.0
Metrics = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""Value by name and labels."""

_IDLE_THREAD: Final = 0.01
"""Threads that use less of a core are left out of the report."""


@dataclass(frozen=True)
class Load:
    """Differences over one round."""

    cpu_cores: float
    """Processor time of the server per second, all threads."""
    event_loop_cores: float
    """That of the main thread, where the server's event loop runs."""
    other_threads: tuple[float, ...]
    """That of each other thread, the busiest first: the engine's and its helpers'."""
    rss_bytes: int
    batch_mean: float | None = None
    batch_max: str | None = None
    """Upper bound of the histogram's bucket with the largest batch, for example `8`."""
    decodes: float | None = None
    """Utterances given to the engine: finals, preflights and interims."""
    engine_busy: float | None = None
    """Share of the time in which the engine ran."""
    engine_s: float | None = None
    """Time of all engine calls, seconds."""
    queue_wait_mean_s: float | None = None
    dropped: float | None = None
    """Work that was given up: stale interims and preflights, cancelled work."""


@dataclass
class LoadMeter:
    """Measures a server from its making until `read`.

    Args:
        pid: of the server's process.
        url: where our server's metrics are; None: it is another server, which tells nothing.
    """

    pid: int
    url: str | None = None
    _process: psutil.Process = field(init=False)
    _before: dict[int, float] = field(init=False)
    _used_before: float = field(init=False)
    _metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self._process = psutil.Process(self.pid)
        self._metrics = read_metrics(self.url)
        self._before = _thread_times(self._process)
        self._used_before = _process_time(self._process)

    def read(self, wall_s: float) -> Load:
        """The differences since the beginning.

        Args:
            wall_s: time that has passed, seconds.
        """
        threads = {
            thread: max(0.0, used - self._before.get(thread, 0.0)) / wall_s
            for thread, used in _thread_times(self._process).items()
        }
        metrics = read_metrics(self.url)
        change = {name: value - self._metrics.get(name, 0.0) for name, value in metrics.items()}
        main = threads.pop(self._process.pid, 0.0)
        others = sorted((used for used in threads.values() if used >= _IDLE_THREAD), reverse=True)
        load = Load(
            # threads that have ended are in this and in none of the others
            cpu_cores=(_process_time(self._process) - self._used_before) / wall_s,
            event_loop_cores=main,
            other_threads=tuple(round(used, 3) for used in others),
            rss_bytes=self._process.memory_info().rss,
        )
        return _with_metrics(load, change, wall_s) if self.url else load


def _with_metrics(load: Load, change: Metrics, wall_s: float) -> Load:
    engine_s = total(change, "speech_inference_seconds_sum")
    return Load(
        load.cpu_cores,
        load.event_loop_cores,
        load.other_threads,
        load.rss_bytes,
        batch_mean=_ratio(change, "speech_batch_size_sum", "speech_batch_size_count"),
        batch_max=largest_bucket(change, "speech_batch_size_bucket"),
        decodes=total(change, "speech_batch_size_sum"),
        engine_busy=engine_s / wall_s,
        engine_s=engine_s,
        queue_wait_mean_s=_ratio(
            change, "speech_queue_wait_seconds_sum", "speech_queue_wait_seconds_count"
        ),
        dropped=total(change, "speech_work_dropped_total"),
    )


def largest_bucket(change: Metrics, name: str) -> str | None:
    """Upper bound (`le`) of a histogram's last bucket in which something fell."""
    below, largest = 0.0, None
    buckets = [(float(labels["le"]), count) for labels, count in _samples(change, name)]
    for bound, count in sorted(buckets):
        if count > below:
            below, largest = count, f"{bound:g}"
    return largest


def parse_metrics(text: str) -> Metrics:
    """Samples of Prometheus' text format."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read_metrics(url: str | None) -> Metrics:
    """What a server counts; nothing where there is no such server."""
    if url is None:
        return {}
    with urllib.request.urlopen(f"{url}/metrics", timeout=_TIMEOUT_S) as answer:
        return parse_metrics(answer.read().decode())


def total(change: Metrics, name: str) -> float:
    """Sum of a metric over its labels."""
    return sum(value for _, value in _samples(change, name))


def _samples(change: Metrics, name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(labels), value) for (found, labels), value in change.items() if found == name]


def _ratio(change: Metrics, above: str, below: str) -> float | None:
    count = total(change, below)
    return total(change, above) / count if count else None


def _thread_times(process: psutil.Process) -> dict[int, float]:
    return {t.id: t.user_time + t.system_time for t in process.threads()}


def _process_time(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system
