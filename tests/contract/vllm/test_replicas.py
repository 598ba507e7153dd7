"""Two copies of the model in two vLLM, one cache too small for everybody, and a sudden death."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import psutil
import pytest

from language_server.vllm.counters import Counters
from tests.server_process import Server
from tests.tiny_dialogue import BLOCK_TOKENS, MODEL, dialogue, language_server
from tests.vllm_environment import MISSING, PYTHON

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    pytest.mark.timeout(1200),
]

CONTEXT_TOKENS = 2048
CACHE_TOKENS = 12_000
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with language_server(
        replicas="2",
        context_tokens=str(CONTEXT_TOKENS),
        cache_blocks=str(CACHE_TOKENS // BLOCK_TOKENS),
    ) as running:
        yield running


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
        yield client


async def ask(
    http: httpx.AsyncClient, system: str, session: str, *, keep: bool = False
) -> tuple[str, dict[str, Any]]:
    """Which copy answered, and its usage."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Hello."}]
    body = {"model": MODEL, "messages": messages, "max_tokens": 1, "temperature": 0}
    headers = {"X-Session-ID": session, **({"X-Parley-Keep-Prefix": "1"} if keep else {})}
    answer = await http.post(CHAT, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-replica"], answer.json()["usage"]


def cached_share(usage: dict[str, Any]) -> float:
    blocks = usage["prompt_tokens"] // BLOCK_TOKENS * BLOCK_TOKENS
    return float(usage["prompt_tokens_details"]["cached_tokens"] / blocks)


async def test_a_call_stays_with_its_copy_and_finds_its_history(http: httpx.AsyncClient) -> None:
    copies = set()
    for number in range(6):
        system = f"This is call {number}. {dialogue()['system']}"
        (first, cold), (second, warm) = [
            await ask(http, system, f"room-{number}") for _ in range(2)
        ]
        assert first == second
        assert cached_share(cold) < 0.1
        assert cached_share(warm) >= 0.95
        copies.add(first)
    assert copies == {"vllm-0", "vllm-1"}


async def test_a_kept_prefix_survives_what_pushes_others_out(http: httpx.AsyncClient) -> None:
    kept, left = (f"{name} {dialogue()['system']}" for name in ("Kept.", "Left."))
    copy, _ = await ask(http, kept, "one call", keep=True)
    await ask(http, left, "one call")
    computed = 0
    number = 0
    while computed < 2 * CACHE_TOKENS:
        number += 1
        _, usage = await ask(http, f"Other {number}. {dialogue()['system']}", "one call")
        computed += usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]
        if number % 2 == 0:
            # As fast as a GPU could fill its cache, in its own measure: a quarter, then a look.
            await _looked(http, copy)
    assert cached_share((await ask(http, left, "one call"))[1]) < 0.1
    assert cached_share((await ask(http, kept, "one call"))[1]) >= 0.95
    touches = (await http.get("/metrics")).text
    assert 'language_prefix_touches_total{result="hit"}' in touches


async def _looked(http: httpx.AsyncClient, copy: str) -> None:
    """Wait until the server has seen how much this copy has computed up to now."""

    async def page() -> str:
        rows = (await http.get("/metrics")).text.splitlines()
        return "\n".join(row for row in rows if f'replica="{copy}"' in row)

    computed = Counters(await page()).computed_tokens
    seen = f'language_replica_computed_tokens{{replica="{copy}"}} '
    async with asyncio.timeout(60):
        while float((await page()).partition(seen)[2].split()[0]) < computed:
            pass  # every look is a request, in which the server gets its turn


async def test_the_other_copy_takes_over_when_one_dies_until_it_is_back(
    server: Server, http: httpx.AsyncClient
) -> None:
    system = dialogue()["system"]
    homes = {
        f"room-{number}": (await ask(http, system, f"room-{number}"))[0] for number in range(6)
    }
    vllms = psutil.Process(server.process.pid).children()
    assert len(vllms) == 2
    family = vllms[0].children(recursive=True)
    os.kill(vllms[0].pid, 9)
    async with asyncio.timeout(60):
        while (await http.get("/ready")).text.count('"ready"') == 2:
            pass  # every look is a request, in which the server gets its turn
    assert (await http.get("/ready")).status_code == 200
    answered = {room: (await ask(http, system, room))[0] for room in homes}
    survivors = set(answered.values())
    assert len(survivors) == 1
    assert all(answered[room] == home for room, home in homes.items() if home in survivors)
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []
    assert 'language_replica_restarts_total{replica="vllm-' in (await http.get("/metrics")).text
    async with asyncio.timeout(400):
        while (await http.get("/ready")).text.count('"ready"') < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.5)  # vLLM loads for a minute; nothing is measured
    assert {(await ask(http, system, room))[0] for room in homes} == set(homes.values())


async def test_all_end_on_sigterm(server: Server) -> None:
    """Last: it stops the server of this module."""
    family = psutil.Process(server.process.pid).children(recursive=True)
    assert server.stop() == 0
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []
