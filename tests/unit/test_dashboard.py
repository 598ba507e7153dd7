"""The Grafana dashboard asks only for what our processes count."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

# imported for the instruments that they register
import speech_plugins.llm  # noqa: F401
import speech_server.metrics  # noqa: F401
import voice_agent.turn_metrics
import voice_agent.worker_metrics  # noqa: F401
from language_server import metrics as responder
from language_server.vllm import metrics as vllm

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "parley.json"
SCRAPED = frozenset({"le", "instance", "job"})
"""Labels that Prometheus adds."""


def instruments() -> dict[str, set[str]]:
    """Every sample's name with its labels, of the worker and of all servers."""
    found: dict[str, set[str]] = {}
    for registry in (REGISTRY, responder.Metrics().registry, vllm.Metrics().registry):
        for name, collector in registry._names_to_collectors.items():
            found.setdefault(name, set()).update(getattr(collector, "_labelnames", ()))
    return found


def panels() -> list[dict[str, Any]]:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def labels_of(expression: str) -> set[str]:
    groups = re.findall(r"by \(([^)]*)\)", expression)
    grouped = {label.strip() for group in groups for label in group.split(",")}
    return grouped | set(re.findall(r"[{,]\s*(\w+)\s*!?=", expression))


def metrics_of(expression: str) -> set[str]:
    bare = re.sub(r"by \([^)]*\)|\{[^}]*\}|\[[^]]*\]", "", expression)
    return set(re.findall(r"[a-z]\w*_\w+(?!\w*\s*\()", bare))


@pytest.mark.parametrize("expression", expressions())
def test_every_expression_asks_for_what_there_is(expression: str) -> None:
    known = instruments()
    asked = metrics_of(expression)
    assert asked
    assert asked <= known.keys()
    labels = set().union(*(known[name] for name in asked))
    assert labels_of(expression) <= labels | SCRAPED


def test_a_metric_that_is_not_there_is_seen() -> None:
    assert metrics_of("sum by (le) (rate(agent_gone_total{a='b'}[5m]))") == {"agent_gone_total"}
    assert "agent_gone_total" not in instruments()


def test_panels_have_names_and_their_own_places() -> None:
    places = [tuple(panel["gridPos"].values()) for panel in panels()]
    assert len(set(places)) == len(places)
    assert all(panel["title"] for panel in panels())
    assert len({panel["id"] for panel in panels()}) == len(places)
