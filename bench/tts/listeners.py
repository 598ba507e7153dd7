"""Who asks for replies: strangers who come when they come, or a fixed number who keep listening."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from bench.tts.playout import play
from bench.tts.wires import Spoken, Wire

REPLY_TIMEOUT_S: Final = 30.0
"""A reply that takes longer counts as failed."""


@dataclass
class Heard:
    """What all listeners of a round met."""

    replies: list[Spoken] = field(default_factory=list)
    """Those that count."""
    earlier: list[Spoken] = field(default_factory=list)
    """Those asked for while the round settled."""
    lateness_s: list[float] = field(default_factory=list)
    """How late replies were asked for: a busy client measures itself."""


def poisson(rate_hz: float, duration_s: float, seed: int) -> list[float]:
    """Times of arrivals that do not know of each other, seconds from 0, rising."""
    random = Random(f"{seed}-{rate_hz}")
    gaps = (random.expovariate(rate_hz) for _ in itertools.count())
    return list(itertools.takewhile(lambda at: at < duration_s, itertools.accumulate(gaps)))


async def arrive(
    wire: Wire, texts: Sequence[str], *, rate_hz: float, settle_s: float, talk_s: float, seed: int
) -> Heard:
    """Ask for replies at random moments, however slowly the server answers: an open loop.

    Args:
        wire: how to ask.
        texts: the replies, shuffled; all are asked for before one is asked for again.
        rate_hz: arrivals per second, on average.
        settle_s: those who come in this time do not count.
        talk_s: length of the round from then on; replies that are open by then are waited for.
        seed: of the arrivals and of the order.
    """
    heard = Heard()
    deck = itertools.cycle(Random(seed).sample(texts, len(texts)))
    began_s = time.perf_counter()
    asking: list[asyncio.Task[None]] = []

    async def ask(text: str, counts: bool) -> None:
        spoken = await _speak(wire, text)
        (heard.replies if counts else heard.earlier).append(spoken)

    for at_s in poisson(rate_hz, settle_s + talk_s, seed):
        await asyncio.sleep(max(0.0, began_s + at_s - time.perf_counter()))
        heard.lateness_s.append(time.perf_counter() - began_s - at_s)
        asking.append(asyncio.create_task(ask(next(deck), at_s >= settle_s)))
    await asyncio.gather(*asking)
    return heard


async def keep_listening(
    wire: Wire, texts: Sequence[str], *, streams: int, settle_s: float, talk_s: float, seed: int
) -> Heard:
    """Have a fixed number of listeners, each asking for the next reply when one has been played.

    Args:
        wire: how to ask.
        texts: the replies, shuffled; whoever begins takes the next one.
        streams: listeners; they join evenly spread over `settle_s`.
        settle_s: replies that begin in this time do not count.
        talk_s: length of the round from then on; replies that are open by then are waited for.
        seed: of the order.
    """
    heard = Heard()
    deck = itertools.cycle(Random(seed).sample(texts, len(texts)))
    began_s = time.perf_counter()
    counts_from_s, ends_s = began_s + settle_s, began_s + settle_s + talk_s

    async def listen(index: int) -> None:
        await asyncio.sleep(settle_s * index / streams)
        while time.perf_counter() < ends_s:
            spoken = await _speak(wire, next(deck))
            counts = spoken.asked_at_s >= counts_from_s
            (heard.replies if counts else heard.earlier).append(spoken)
            if spoken.failure:
                return
            due_s = play(spoken.pieces, spoken.asked_at_s).ended_at_s
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            heard.lateness_s.append(max(0.0, time.perf_counter() - due_s))

    await asyncio.gather(*(listen(index) for index in range(streams)))
    return heard


async def _speak(wire: Wire, text: str) -> Spoken:
    asked_at_s = time.perf_counter()
    try:
        async with asyncio.timeout(REPLY_TIMEOUT_S):
            return await wire.speak(text)
    except TimeoutError:
        return Spoken(text, asked_at_s, failure=f"not whole after {REPLY_TIMEOUT_S:g} s")
