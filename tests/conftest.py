"""Markers come from the folder a test lies in."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from voice_agent.settings import home_dir

# CI tries the same examples every time; a developer's run looks for new ones. No test is timed.
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")

_TESTS = Path(__file__).parent


@pytest.fixture(autouse=True)
def home_of_its_own() -> Iterator[None]:
    """What one test sets as `PARLEY_HOME` must not outlive it in the cache."""
    yield
    home_dir.cache_clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(_TESTS).parts[0]
        item.add_marker(getattr(pytest.mark, folder))
