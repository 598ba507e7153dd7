"""The tiny Llama in vLLM behind our door: one engine for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.server_process import Server
from tests.tiny_dialogue import API_KEY, language_server

LONG = 1500
"""Tokens of an answer that takes seconds."""


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    # One sequence in a step, so that requests wait inside vLLM and their order can be seen.
    with language_server(
        api_key=API_KEY,
        max_sequences="1",
        max_requests="8",
        reserved_requests="2",
        max_tokens=str(LONG),
    ) as running:
        yield running
