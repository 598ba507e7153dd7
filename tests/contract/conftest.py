"""Speech servers with both roles and the built-in engines, shared by all contract tests."""

from collections.abc import Iterator

import pytest

from tests.speech_server_process import SpeechServer, speech_server_process


@pytest.fixture(scope="session")
def speech_server() -> Iterator[SpeechServer]:
    with speech_server_process() as server:
        yield server


@pytest.fixture(scope="session")
def keyed_speech_server() -> Iterator[SpeechServer]:
    """One that wants its `api_key`, in whatever way a stock client sends it."""
    with speech_server_process(speech_api_key="a key of some length") as server:
        yield server
