"""The whole run: the codec, the two voices on the same tokens, then the server and its ramp."""

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import aiohttp
from rich.console import Console

from bench.ramp import ramp
from bench.tts.code_voices import CodeWire, OurVoice, ReferenceVoice
from bench.tts.engine_tokens import count_scripted
from bench.tts.plan import Plan
from bench.tts.replies import tiny_voice_replies
from bench.tts.report import OUR_CODE_VOICE, OURS, REFERENCE, Report
from bench.tts.rounds import LoadKind, Round, Span, System, run_round
from bench.tts.scripted_source import ScriptedSource
from bench.tts.served import count_served, leading_silences, speak_alone
from bench.tts.snac_work import TINY_VOICE, measure
from bench.tts.systems import Voice, parley
from bench.tts.wires import SpeakWire, SpeechWire
from speech_server.tts.orpheus_codes import SLOTS, TOKENS_PER_S, Codes, Frame, codes_of
from speech_server.tts.snac_decoder import load_snac
from speech_server.tts.snac_stream import Pace
from tests.speech_server_process import SpeechServer

CODE_SPEED: Final = 2.0
"""Frames that the scripted model makes in the time that one lasts."""
_OVERHEAD_S: Final = 4.0
"""What a round takes beyond its length: the last replies."""
_REPLY_S: Final = 6.0
"""Longest reply of the demo, about: connections are opened for as many as may be open at once."""


class OutOfTime(Exception):
    """The plan's time limit leaves no room for a second round."""


class Benchmark:
    """One run of `parley bench tts`.

    Args:
        voice: what our server speaks with.
        texts: what it says.
        plan: steps and durations.
        settings: further settings of our server.
        console: where progress is shown.
    """

    def __init__(
        self,
        voice: Voice,
        texts: Sequence[str],
        plan: Plan,
        settings: dict[str, str],
        console: Console,
    ) -> None:
        self._voice = voice
        self._texts = texts
        self._plan = plan
        self._settings = settings
        self._console = console
        self._began_s = time.monotonic()
        self.report = Report(self._conditions(), plan.bound_s)
        """Grows as the run goes on, so that what was measured outlives one that breaks off."""

    async def run(self) -> Report:
        """Measure.

        Raises:
            RuntimeError: our server did not start, or did not speak.
            SpeechError: the codec cannot be loaded.
            OSError, aiohttp.ClientError, psutil.Error: the server died meanwhile.
        """
        answers = tiny_voice_replies()
        self._console.print("the codec's work, and the tokens that it takes …")
        self._measure_codec([codes_of(frames) for frames in answers.values()])
        await self._count_tokens(dict(list(answers.items())[: self._plan.counted]))
        asked_s = time.monotonic()
        with parley(self._voice, self._settings) as server:
            # vLLM takes a minute to start, which is not the measurement's.
            self._began_s += time.monotonic() - asked_s
            await self._measure_server(server)
        await self._measure_codes(answers)
        return self.report

    def _measure_codec(self, replies: list[Codes]) -> None:
        snac = load_snac(TINY_VOICE / "snac", "cpu")
        self.report.codec = measure(snac, replies, Pace(), self._plan.codec_rounds)

    async def _count_tokens(self, answers: Mapping[str, Sequence[Frame]]) -> None:
        self.report.tokens["scripted"], self.report.tiny_leads_s = await count_scripted(
            answers, TINY_VOICE / "snac", CODE_SPEED * TOKENS_PER_S
        )

    async def _measure_server(self, server: SpeechServer) -> None:
        """One caller, then the ramp."""
        plan, texts = self._plan, self._texts
        # Its own pool without a limit: an open loop must not wait for a connection.
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            speak = SpeakWire(session, server.url, plan.tokens_per_s)
            self._console.print("one caller, then every voice's leading silence …")
            alone = texts[: plan.alone]
            await speak.connect(1)
            await speak_alone(speak, alone[:1])  # whoever comes first waits for what is lazy
            self.report.alone["tokens"] = await speak_alone(speak, alone)
            self.report.alone["text"] = await speak_alone(SpeechWire(session, server.url), alone)
            self.report.leads_s = await leading_silences(session, server.url, texts[: plan.silent])
            if self._voice.engine == "orpheus":
                self.report.tokens["vllm"] = await count_served(session, server.url, alone)
            description = f"our server, {self._voice.engine}, text token by token"
            ours = System(OURS, description, speak, server.process.pid, server.url)
            await self._ramp(
                {ours: plan.rates_hz}, partial(self._measure_rate, speak), plan.bound_s
            )

    async def _measure_codes(self, answers: Mapping[str, Sequence[Frame]]) -> None:
        """Our voice and the reference's on the same tokens, in turns."""
        source = ScriptedSource(answers, CODE_SPEED * TOKENS_PER_S, SLOTS)
        snac = TINY_VOICE / "snac"
        async with AsyncExitStack() as loaded:
            steps = {}
            for name, voice, description in (
                (OUR_CODE_VOICE, OurVoice(source, snac), "our engine on the tiny voice's tokens"),
                (
                    REFERENCE,
                    ReferenceVoice(source, snac),
                    "the reference decoder's window of four frames on the same tokens",
                ),
            ):
                await voice.start()
                loaded.push_async_callback(voice.close)
                system = System(name, description, CodeWire(voice), os.getpid())
                steps[system] = self._plan.listeners
            # Every step: where each begins to leave gaps, and how it goes on from there.
            await self._ramp(steps, partial(self._measure_listeners, list(answers)), None)

    async def _ramp(
        self,
        steps: Mapping[System, Sequence[float]],
        measured: Callable[[System, float], Awaitable[Round]],
        give_up_s: float | None,
    ) -> None:
        self.report.systems |= {system.name: system.description for system in steps}
        bound_s = min(self.report.bound_of(system.name) for system in steps)
        try:
            await ramp(
                steps,
                measured,
                bound_s=bound_s,
                give_up_s=give_up_s,
                second_chance=self._plan.second_chance,
            )
        except OutOfTime:
            names = " and ".join(system.name for system in steps)
            self.report.notes.append(f"{names}: stopped at the time limit, not at the last step")

    async def _measure_rate(self, wire: SpeakWire, system: System, rate_hz: float) -> Round:
        await wire.connect(round(2 * rate_hz * _REPLY_S) + 1)
        span = Span(self._plan.settle_s, self._plan.talk_s)
        return await self._measure(system, self._texts, "replies per second", rate_hz, span)

    async def _measure_listeners(
        self, texts: Sequence[str], system: System, listeners: float
    ) -> Round:
        span = Span(self._plan.settle_s, self._plan.code_talk_s)
        return await self._measure(system, texts, "listeners", listeners, span)

    async def _measure(
        self, system: System, texts: Sequence[str], kind: LoadKind, step: float, span: Span
    ) -> Round:
        ends_s = time.monotonic() - self._began_s + span.settle_s + span.talk_s + _OVERHEAD_S
        late = self._plan.time_limit_s is not None and ends_s > self._plan.time_limit_s
        if late and any(earlier.system == system.name for earlier in self.report.rounds):
            raise OutOfTime
        result = await run_round(system, texts, kind, step, span)
        self.report.rounds.append(result)
        self._console.print(_line(result, self.report.bound_of(result.system)))
        return result

    def _conditions(self) -> dict[str, object]:
        plan = self._plan
        return {
            "engine": self._voice.engine,
            "model": self._voice.model.name if self._voice.model else None,
            "tiny_voice": self._voice.is_tiny,
            "server_settings": self._settings,
            "texts": len(self._texts),
            "text_mean_chars": sum(map(len, self._texts)) / len(self._texts),
            "text_tokens_per_s": plan.tokens_per_s,
            "code_tokens_per_s": CODE_SPEED * TOKENS_PER_S,
            "settle_s": plan.settle_s,
            "talk_s": plan.talk_s,
            "load_average_before": os.getloadavg(),
        }


def _line(result: Round, bound_s: float) -> str:
    audible = result.audible_s
    heard = (
        f"audible p50 {1000 * audible.p50:.0f} p95 {1000 * audible.p95:.0f} ms"
        if audible
        else "nothing heard"
    )
    mark = "[green]✓[/]" if result.within(bound_s) else "[red]✗[/]"
    gaps = f"  [red]{result.under_run_replies} under-runs[/]" if result.gaps else ""
    problems = f"  [red]{'; '.join(result.problems)}[/]" if result.problems else ""
    load = f"{result.step:g} {result.load_kind}"
    return f"{mark} {result.system:16} {load:24} {heard}{gaps}{problems}"
