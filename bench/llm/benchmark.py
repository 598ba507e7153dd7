"""The whole run: prompts unknown and known, callers at once, and the cache filled by others."""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Final

import aiohttp
from rich.console import Console

from bench.llm.asking import Answer, Asker, NotAnswered
from bench.llm.plan import Plan
from bench.llm.prompts import sample, turns, words, words_for
from bench.llm.report import Load, Pressure, Report, cached_share, p50
from bench.llm.systems import System, ours
from language_server.vllm.counters import Counters

_TIMEOUT_S: Final = 120.0
_LEFT_ANSWER_TOKENS: Final = 400
"""Length of an answer that nobody hears to the end."""
_TAKEN: Final = 8
"""Pieces of it that are heard."""
_FILL: Final = 1.5
"""Tokens of other prompts that fill the cache, by its size."""


class Benchmark:
    """One run of `parley bench llm`.

    Args:
        system: the server; None: ours is started.
        model: directory of the model that ours serves; None: one with random weights.
        plan: steps and durations.
        settings: further settings of our server, without `language_`.
        console: where progress is shown.
    """

    def __init__(
        self,
        system: System | None,
        model: Path | None,
        plan: Plan,
        settings: dict[str, str],
        console: Console,
    ) -> None:
        self._system = system
        self._model = model
        self._plan = plan
        self._settings = settings
        self._console = console
        self._seeds = (f"{os.getpid()}-{number}" for number in count())
        self._prompt_words = 0
        self.report = Report(
            {
                "prompt_tokens": plan.prompt_tokens,
                "answer_tokens": plan.answer_tokens,
                "server_settings": settings,
                "load_average_before": os.getloadavg(),
            }
        )
        """Grows as the run goes on, so that what was measured outlives one that breaks off."""

    async def run(self) -> Report:
        """Measure.

        Raises:
            RuntimeError: the server did not start, or did not answer.
            OSError, aiohttp.ClientError: it died meanwhile.
        """
        with ExitStack() as running:
            system = self._system
            if system is None:
                self._console.print("starting our server with vLLM (a minute or two) …")
                server = ours(self._model, self._plan.prompt_tokens, self._settings)
                system = running.enter_context(server)
            self.report.conditions["server"] = system.description
            self.report.conditions["cache_tokens"] = system.cache_tokens
            async with aiohttp.ClientSession(
                f"{system.url.rstrip('/')}/",
                headers={"Authorization": f"Bearer {system.api_key}"},
                # Its own pool without a limit: callers must not wait for a connection.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S),
            ) as session:
                model = system.model or await _first_model(session)
                self.report.conditions["model"] = model
                await self._measure(Asker(session, model, system.is_ours), system)
        return self.report

    async def _measure(self, asker: Asker, system: System) -> None:
        counted = await asker.ask(sample(), "Hello.", self._plan.answer_tokens)
        self._prompt_words = words_for(self._plan.prompt_tokens, counted.prompt_tokens)
        began_s = time.monotonic()
        await self._cold_and_cached(asker)
        if system.cache_tokens is None:
            self.report.notes.append("the cache is not filled: its size is known of ours alone")
        else:
            for pressure in ("left alone", "kept"):
                await self._under_pressure(asker, pressure, system.cache_tokens)
        if system.cache_tokens is not None:
            await self._leave(asker, system)
        for callers in self._plan.callers:
            limit_s = self._plan.time_limit_s
            late = limit_s is not None and time.monotonic() - began_s > limit_s
            if self.report.loads and late:
                self.report.notes.append("stopped at the time limit, not at the last step")
                break
            await self._at_once(asker, callers)

    async def _cold_and_cached(self, asker: Asker) -> None:
        """Every prompt twice in a row, so that both meet the same machine."""
        for _ in range(self._plan.prompts):
            seed = next(self._seeds)
            prompt = words(self._prompt_words, seed)
            first, second = turns(2, seed)
            self.report.cold.append(await self._ask(asker, prompt, first))
            self.report.cached.append(await self._ask(asker, prompt, second))
        self._tell("unknown", self.report.cold)
        self._tell("known", self.report.cached)

    async def _under_pressure(self, asker: Asker, pressure: Pressure, cache_tokens: int) -> None:
        """A prompt that was known, after others have filled the cache."""
        answers = self.report.under_pressure.setdefault(pressure, [])
        seed = next(self._seeds)
        prompt = words(self._prompt_words, seed)
        keep = pressure == "kept"
        said = turns(self._plan.presses + 1, seed)
        await asker.ask(prompt, said[0], self._plan.answer_tokens, keep=keep)
        others = round(_FILL * cache_tokens / self._plan.prompt_tokens)
        for turn in said[1:]:
            for _ in range(others):
                other = next(self._seeds)
                await self._ask(asker, words(self._prompt_words, other), "Hello.")
            answers.append(await self._ask(asker, prompt, turn))
        self._tell(f"known, cache filled, {pressure}", answers)

    async def _leave(self, asker: Asker, system: System) -> None:
        """Callers who hang up in mid-answer: what vLLM counts beyond what they got."""
        seed = next(self._seeds)
        prompt = words(self._prompt_words, seed)
        for said in turns(self._plan.leaves, seed):
            before = await self._until_idle(asker, system)
            taken = await asker.leave(prompt, said, _LEFT_ANSWER_TOKENS, _TAKEN)
            generated = await self._until_idle(asker, system) - before
            self.report.after_leaving.append(round(generated) - taken)
        if self.report.after_leaving:
            self._console.print(f"tokens after hanging up: {self.report.after_leaving}")

    async def _until_idle(self, asker: Asker, system: System) -> float:
        """Tokens generated so far, once nothing runs; every look gives vLLM time."""
        page_url = f"{system.url.removesuffix('/v1')}/metrics"
        async with asyncio.timeout(_TIMEOUT_S):
            while True:
                async with asker.session.get(page_url) as answer:
                    counters = Counters(await answer.text())
                if not counters.total("vllm:num_requests_running"):
                    return counters.total("vllm:generation_tokens_total")

    async def _at_once(self, asker: Asker, callers: int) -> None:
        """Callers with one system prompt, each as fast as it is answered."""
        seed = next(self._seeds)
        prompt = words(self._prompt_words, seed)
        await self._ask(asker, prompt, "Hello.")
        answers: list[Answer] = []
        refused = 0

        async def call(name: str) -> None:
            nonlocal refused
            for said in turns(self._plan.turns, name):
                try:
                    answers.append(await self._ask(asker, prompt, said, session_id=name))
                except NotAnswered:
                    refused += 1

        began_s = time.perf_counter()
        await asyncio.gather(*(call(f"{seed} caller {number}") for number in range(callers)))
        load = Load.of(callers, answers, refused, time.perf_counter() - began_s)
        self.report.loads.append(load)
        self._tell(f"{callers} callers", answers)

    async def _ask(self, asker: Asker, prompt: str, said: str, session_id: str = "bench") -> Answer:
        return await asker.ask(prompt, said, self._plan.answer_tokens, session_id=session_id)

    def _tell(self, what: str, answers: Sequence[Answer]) -> None:
        ttft_s, share = p50(answers), cached_share(answers)
        found = f"TTFT p50 {1000 * ttft_s:.0f} ms" if ttft_s is not None else "no answer"
        cached = f", {100 * share:.1f} % cached" if share is not None else ""
        self._console.print(f"{what:36} {found}{cached}")


async def _first_model(session: aiohttp.ClientSession) -> str:
    async with session.get("models") as answer:
        listed = (await answer.json()).get("data") or []
    if not listed:
        raise NotAnswered("the server lists no model; name one with --model")
    return str(listed[0]["id"])
