"""What vLLM's own metrics page tells: work done, room in the cache, and its samples for ours."""

import re
from collections.abc import Iterator
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

_SAMPLE: Final = re.compile(r"^(vllm:\w+)(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
_CACHE: Final = re.compile(r"^vllm:cache_config_info\{([^}]*)\}", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="(\d+)"')


class Counters:
    """One reading of the page.

    Args:
        page: Prometheus text format.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._totals: dict[str, float] = {}
        for name, value in _SAMPLE.findall(page):
            self._totals[name] = self._totals.get(name, 0.0) + float(value)

    def total(self, name: str) -> float:
        """The sum of a metric over its labels; 0 where it is not there."""
        return self._totals.get(name, 0.0)

    @property
    def computed_tokens(self) -> float:
        """Tokens that took room in the cache since vLLM started: those not found there."""
        asked = self.total("vllm:prefix_cache_queries_total")
        found = self.total("vllm:prefix_cache_hits_total")
        return asked - found + self.total("vllm:generation_tokens_total")

    @property
    def cache_tokens(self) -> float:
        """Tokens that the cache holds; infinite where vLLM does not tell."""
        found = _CACHE.search(self._page)
        labels = dict(_LABEL.findall(found[1])) if found else {}
        blocks, size = labels.get("num_gpu_blocks"), labels.get("block_size")
        return int(blocks) * int(size) if blocks and size else float("inf")

    def families(self, replica: str) -> Iterator[Metric]:
        """The metrics of vLLM, labelled with the copy of the model that they are of."""
        for family in text_string_to_metric_families(self._page):
            if not family.name.startswith("vllm:"):
                continue
            labelled = Metric(family.name, family.documentation, family.type)
            for sample in family.samples:
                labels = {**sample.labels, "replica": replica}
                labelled.add_sample(sample.name, labels, sample.value)
            yield labelled
