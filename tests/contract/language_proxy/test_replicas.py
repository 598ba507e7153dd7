"""Several copies of a model behind the door: who answers a call, and what is kept warm where."""

import asyncio

import pytest

from tests.contract.language_proxy.fake_vllm import CHAT, FakeVllm, body, client, proxied, until


def asked(vllms: list[FakeVllm]) -> list[int]:
    return [len(vllm.requests) for vllm in vllms]


@pytest.mark.parametrize("by", ["X-Session-ID", "X-LiveKit-Room-ID", "user"])
async def test_a_call_stays_with_its_copy(by: str) -> None:
    async with proxied(count=3) as server, client(server) as http:
        used = []
        for call in range(6):
            before = asked(server.vllms)
            for _ in range(3):
                headers = {} if by == "user" else {by: f"room-{call}"}
                user = {"user": f"room-{call}"} if by == "user" else {}
                answer = await http.post(CHAT, json=body(**user), headers=headers)
                assert answer.status_code == 200
            counts = zip(asked(server.vllms), before, strict=True)
            (copy,) = [n for n, (now, then) in enumerate(counts) if now > then]
            used.append(copy)
        assert len(set(used)) > 1


async def test_only_the_calls_of_a_copy_that_goes_move() -> None:
    async with proxied(count=3) as server, client(server) as http:

        async def copies() -> list[str]:
            answers = [
                await http.post(CHAT, json=body(), headers={"X-Session-ID": f"room-{call}"})
                for call in range(12)
            ]
            return [answer.headers["x-replica"] for answer in answers]

        before = await copies()
        server.replicas[1].down("gone")
        after = await copies()
        for then, now in zip(before, after, strict=True):
            assert now != "vllm-1"
            assert now == then or then == "vllm-1"


async def test_a_full_copy_s_calls_go_to_another() -> None:
    async with proxied(count=2, places=1, reserved=0) as server, client(server) as http:
        for vllm in server.vllms:
            vllm.hold_before_headers = asyncio.Event()
        headers = {"X-Session-ID": "room"}
        tasks = [
            asyncio.create_task(http.post(CHAT, json=body(), headers=headers)) for _ in range(2)
        ]
        await until(lambda: asked(server.vllms) == [1, 1])
        assert (await http.post(CHAT, json=body(), headers=headers)).status_code == 429
        for vllm in server.vllms:
            assert vllm.hold_before_headers is not None
            vllm.hold_before_headers.set()
        assert [answer.status_code for answer in await asyncio.gather(*tasks)] == [200, 200]


async def test_a_prefix_to_keep_is_warmed_on_every_copy_and_touched_under_pressure() -> None:
    async with proxied(count=2) as server, client(server) as http:
        headers = {"X-Parley-Keep-Prefix": "1", "X-Session-ID": "x"}
        answer = await http.post(CHAT, json=body(), headers=headers)
        first = int(answer.headers["x-replica"].removeprefix("vllm-"))
        other = server.vllms[1 - first]
        async with asyncio.timeout(20):
            await other.started.wait()
        assert other.requests[0]["max_completion_tokens"] == 1
        assert other.requests[0]["messages"][0]["content"] == "You answer."
        assert len(server.vllms[first].requests) == 1
        server.vllms[first].started.clear()
        server.vllms[first].computed_tokens = 3200  # as many as the cache holds
        async with asyncio.timeout(20):
            await server.vllms[first].started.wait()
        assert server.vllms[first].requests[-1]["priority"] == 20


async def test_a_vllm_of_others_that_goes_and_comes_back() -> None:
    async with proxied() as server, client(server) as http:
        server.vllm.healthy = False
        await until(lambda: not server.replicas[0].ready)
        assert (await http.get("/ready")).status_code == 503
        server.vllm.healthy = True
        await until(lambda: server.replicas[0].ready)
        assert (await http.post(CHAT, json=body())).status_code == 200
