import asyncio
from collections.abc import AsyncIterator

import pytest
from livekit.agents import APIConnectionError, APIError, APIStatusError

from speech_plugins import fallback
from speech_plugins.fallback import FirstProvider, race

GONE = APIConnectionError("gone")


class Provider:
    """Answers the question whether it is back."""

    def __init__(self) -> None:
        self.back = asyncio.Event()
        self.asked = asyncio.Semaphore(0)

    async def probe(self) -> None:
        self.asked.release()
        if not self.back.is_set():
            raise GONE


@pytest.fixture
async def provider() -> Provider:
    return Provider()


@pytest.fixture
async def first(provider: Provider) -> AsyncIterator[FirstProvider]:
    first = FirstProvider("test", provider.probe, interval_s=0.001)
    yield first
    await first.aclose()


async def test_it_is_asked_until_it_is_back(provider: Provider, first: FirstProvider) -> None:
    well = asyncio.Event()
    forget = first.call_when_well(well.set)
    assert first.is_well
    first.failed(GONE)
    first.failed(GONE)  # two calls may tell of the same failure
    assert not first.is_well
    await provider.asked.acquire()
    await provider.asked.acquire()
    assert not first.is_well
    provider.back.set()
    async with asyncio.timeout(10):
        await well.wait()
    assert first.is_well

    forget()
    well.clear()
    first.failed(GONE)
    async with asyncio.timeout(10):
        while not first.is_well:
            await provider.asked.acquire()
            await asyncio.sleep(0)
    assert not well.is_set()


async def test_one_that_takes_too_long_to_say_so_is_not_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fallback, "PROBE_TIMEOUT_S", 0.01)
    asked = asyncio.Semaphore(0)

    async def hangs() -> None:
        asked.release()
        await asyncio.Event().wait()

    first = FirstProvider("test", hangs, interval_s=0.001)
    first.failed(GONE)
    await asked.acquire()
    await asked.acquire()
    assert not first.is_well
    await first.aclose()


async def test_a_question_that_swallows_its_cancellation_is_the_last() -> None:
    asked = asyncio.Event()

    async def runs_out_of_time() -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise TimeoutError from None

    first = FirstProvider("test", runs_out_of_time, interval_s=0.001)
    first.failed(GONE)
    await asked.wait()
    async with asyncio.timeout(10):
        await first.aclose()
    first.failed(GONE)  # a stream that ends late begins no new ones
    assert len(asyncio.all_tasks()) == 1


async def test_trust_that_is_broken_again_and_again_comes_back_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def back() -> None:
        pass

    monkeypatch.setattr(fallback.asyncio, "sleep", sleep)
    first = FirstProvider("test", back, interval_s=2.0)

    async def fail() -> None:
        well = asyncio.Event()
        forget = first.call_when_well(well.set)
        first.failed(GONE)
        await well.wait()
        forget()

    for _ in range(6):
        await fail()
    first.served()
    await fail()
    assert waits == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 2.0]


class Racer:
    """One of two that are asked."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.cancelled = False

    async def run(self) -> str:
        self.begun.set()
        try:
            return await self.answer
        except asyncio.CancelledError:
            self.cancelled = True
            raise


@pytest.fixture
async def racers() -> tuple[Racer, Racer]:
    return Racer(), Racer()


def start(
    racers: tuple[Racer, Racer], head_start_s: float, late: list[str] | None = None
) -> "asyncio.Task[tuple[str, APIError | None]]":
    async def discard(answer: str) -> None:
        if late is not None:
            late.append(answer)

    first, second = racers
    return asyncio.create_task(
        race(first.run(), second.run, head_start_s=head_start_s, discard=discard)
    )


async def test_the_second_is_not_asked_where_the_first_is_quick(
    racers: tuple[Racer, Racer],
) -> None:
    first, second = racers
    running = start(racers, 60)
    await first.begun.wait()
    first.answer.set_result("first")
    assert await running == ("first", None)
    assert not second.begun.is_set()


async def test_the_second_is_asked_at_once_where_the_first_fails(
    racers: tuple[Racer, Racer],
) -> None:
    first, second = racers
    running = start(racers, 60)
    first.answer.set_exception(GONE)
    await second.begun.wait()
    second.answer.set_result("second")
    answer, lost = await running
    assert answer == "second"
    assert lost is GONE


@pytest.mark.parametrize("winner", [0, 1])
async def test_a_slow_first_may_still_win(racers: tuple[Racer, Racer], winner: int) -> None:
    running = start(racers, 0.001)
    await racers[1].begun.wait()
    racers[winner].answer.set_result("won")
    answer, lost = await running
    assert answer == "won"
    assert (lost is None) == (winner == 0)
    assert racers[1 - winner].cancelled


async def test_an_answer_that_comes_too_late_is_taken_away(racers: tuple[Racer, Racer]) -> None:
    late: list[str] = []
    running = start(racers, 0.001, late)
    await racers[1].begun.wait()
    for racer, name in zip(racers, ("first", "second"), strict=True):
        racer.answer.set_result(name)
    assert await running == ("first", None)
    assert late in ([], ["second"])


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ((GONE, APIStatusError("no", status_code=400)), "gone"),
        ((APIStatusError("no", status_code=400), GONE), "gone"),
        (
            (APIStatusError("no", status_code=400), APIStatusError("nor I", status_code=400)),
            "nor I",
        ),
    ],
)
async def test_when_both_fail_the_error_worth_a_retry_is_told(
    racers: tuple[Racer, Racer], errors: tuple[APIError, APIError], told: str
) -> None:
    running = start(racers, 60)
    for racer, error in zip(racers, errors, strict=True):
        racer.answer.set_exception(error)
    with pytest.raises(APIError, match=told):
        await running


async def test_who_asks_may_go_away(racers: tuple[Racer, Racer]) -> None:
    running = start(racers, 0.001)
    await racers[1].begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert racers[0].cancelled
    assert racers[1].cancelled
