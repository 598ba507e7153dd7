from collections.abc import AsyncIterator

import httpx
import openai
import pytest

from tests.contract.responder.responder_server import serving


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving() as base:
        yield base


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
async def http(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=20) as made:
        yield made
