"""How long a caller hears nothing while the first provider of a service is killed or stopped.

    python -m bench.fallback --rounds 10 --json out.json

For each of ears, model and voice two real servers of ours with built-in engines, the first behind a
cable. `well`: nothing happens. `killed`: the cable is pulled at the worst moment, so that what runs
breaks and what is asked next is refused. `stopped`: the first server's process is (SIGSTOP), so
that connections stay open and say nothing.
"""

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from livekit.agents import llm

from bench.children import await_port, child, free_port
from bench.machine import hardware, versions
from speech_plugins import LLM
from speech_plugins.fallback import FirstProvider
from speech_plugins.fallback_llm import FallbackLLM
from speech_plugins.fallback_stt import FallbackSTT
from speech_plugins.fallback_tts import FallbackTTS
from tests.contract.livekit_plugins.caller import Caller, Kind, utterance
from tests.contract.livekit_plugins.relay import Relay
from tests.speech_server_process import speech_server_process

Fate = Literal["well", "killed", "stopped"]
FATES: Final[tuple[Fate, ...]] = ("well", "killed", "stopped")
PROBE_INTERVAL_S: Final = 0.1
QUESTION: Final = "What are your opening hours?"
REPLY: Final = "Your appointment is booked. It is on Tuesday at noon. Please come a little early."
WRITTEN_BEFORE: Final = REPLY.index("Tuesday")
"""Characters of the reply that the server has when something happens to it."""


@dataclass
class First:
    """The server that something happens to."""

    relay: Relay
    process: "subprocess.Popen[str]"

    async def meet(self, fate: Fate) -> None:
        if fate == "killed":
            await self.relay.pull()
        elif fate == "stopped":
            self.process.send_signal(signal.SIGSTOP)

    async def recover(self, fate: Fate, provider: FirstProvider) -> None:
        """Come back, and wait until that was noticed."""
        back = asyncio.Event()
        forget = provider.call_when_well(back.set)
        if fate == "killed":
            await self.relay.plug_in()
        elif fate == "stopped":
            self.process.send_signal(signal.SIGCONT)
        if not provider.is_well:
            await back.wait()
        forget()
        provider.served()  # else each round would be followed by a longer wait


Trial = Callable[[Fate], Awaitable[float]]
"""Has the first server meet a fate, and returns for how long nothing came, seconds."""


def hearing(first: First, stt: FallbackSTT) -> Trial:
    """From the end of a turn to its final transcript."""

    async def trial(fate: Fate) -> float:
        caller = Caller(stt.stream())
        caller.say(utterance(QUESTION))
        await caller.wait_for(Kind.PREFLIGHT_TRANSCRIPT)
        await first.meet(fate)
        began_at = time.perf_counter()
        caller.stream.flush()
        await caller.wait_for(Kind.FINAL_TRANSCRIPT)
        waited_s = time.perf_counter() - began_at
        await first.recover(fate, stt._server._provider)  # type: ignore[attr-defined]
        await caller.stream.aclose()
        return waited_s

    return trial


def beginning(first: First, tts: FallbackTTS) -> Trial:
    """From a text to its first sound."""

    async def trial(fate: Fate) -> float:
        stream = tts.stream()
        await first.meet(fate)
        began_at = time.perf_counter()
        stream.push_text(REPLY)
        stream.end_input()
        await anext(stream)
        waited_s = time.perf_counter() - began_at
        async for _ in stream:
            pass
        await first.recover(fate, tts._socket._provider)  # type: ignore[attr-defined]
        await stream.aclose()
        return waited_s

    return trial


def going_on(first: First, tts: FallbackTTS) -> Trial:
    """Silence at the ear in the middle of a reply whose second half is written after the fate.

    The caller hears what has come in real time: what was spoken ahead covers a part of the wait.
    """

    async def trial(fate: Fate) -> float:
        stream = tts.stream()
        stream.push_text(REPLY[:WRITTEN_BEFORE])
        event = await anext(stream)
        played_until = time.perf_counter() + event.frame.duration
        await first.meet(fate)
        stream.push_text(REPLY[WRITTEN_BEFORE:])
        stream.end_input()
        silence_s = 0.0
        async for event in stream:
            late_s = max(0.0, time.perf_counter() - played_until)
            silence_s += late_s
            played_until += late_s + event.frame.duration
        await first.recover(fate, tts._socket._provider)  # type: ignore[attr-defined]
        await stream.aclose()
        return silence_s

    return trial


def answering(first: First, model: FallbackLLM) -> Trial:
    """From a question to the first token."""
    asked = llm.ChatContext.empty()
    asked.add_message(role="system", content="You are the front desk.")
    asked.add_message(role="user", content="Hello.")

    async def trial(fate: Fate) -> float:
        await first.meet(fate)
        began_at = time.perf_counter()
        async with model.chat(chat_ctx=asked) as stream:
            async for chunk in stream:
                if chunk.has_response():
                    break
            waited_s = time.perf_counter() - began_at
        await first.recover(fate, model.provider_state)
        return waited_s

    return trial


@contextmanager
def responder() -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """The scripted language server on a free port."""
    port = free_port()
    command = ["env", f"PARLEY_LANGUAGE_PORT={port}", sys.executable, "-m", "language_server"]
    with child(command, stderr=subprocess.DEVNULL) as process:
        await_port(port, process, "language server")
        yield port, process


@asynccontextmanager
async def stages() -> AsyncIterator[dict[str, Trial]]:
    """Every stage with its servers."""
    with ExitStack() as servers:
        speech, spare = (servers.enter_context(speech_server_process()) for _ in range(2))
        model, spare_model = (servers.enter_context(responder()) for _ in range(2))
        async with Relay.running(speech.port) as cable, Relay.running(model[0]) as model_cable:
            urls = {"url": cable.url, "fallback_url": spare.url}
            stt = FallbackSTT(**urls, probe_interval_s=PROBE_INTERVAL_S)
            tts = FallbackTTS(**urls, word_times=True, probe_interval_s=PROBE_INTERVAL_S)
            both = FallbackLLM(
                *(
                    LLM(url=f"{url}/v1", model="parley-responder")
                    for url in (model_cable.url, f"http://127.0.0.1:{spare_model[0]}")
                ),
                instructions="You are the front desk.",
                probe_interval_s=PROBE_INTERVAL_S,
            )
            first = First(cable, speech.process)
            yield {
                "final transcript": hearing(first, stt),
                "first token": answering(First(model_cable, model[1]), both),
                "first sound": beginning(first, tts),
                "rest of a reply": going_on(first, tts),
            }
            for each in (stt, tts, both):
                await each.aclose()


async def measure(rounds: int) -> dict[str, dict[str, list[float]]]:
    waits: dict[str, dict[str, list[float]]] = {}
    async with stages() as trials:
        for trial in trials.values():
            await trial("well")  # connections are open from here on
        for _ in range(rounds):
            for name, trial in trials.items():
                for fate in FATES:
                    waited_s = await trial(fate)
                    waits.setdefault(name, {}).setdefault(fate, []).append(waited_s)
    await asyncio.sleep(0.1)  # until the cables' ends have noticed that they were pulled
    return waits


def table(waits: dict[str, dict[str, list[float]]]) -> str:
    lines = [
        "| silence until the … | well | killed | stopped |",
        "|---|---|---|---|",
    ]
    for name, by_fate in waits.items():
        cells = []
        for fate in FATES:
            median_s, longest_s = statistics.median(by_fate[fate]), max(by_fate[fate])
            cells.append(f"{median_s * 1000:.0f} / {longest_s * 1000:.0f} ms")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "Median / longest."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, help="trials of each kind")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    waits = asyncio.run(measure(options.rounds))
    print(table(waits))
    if options.json is not None:
        record: dict[str, Any] = {
            "rounds": options.rounds,
            "waits_s": waits,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "hardware": hardware(),
            "versions": versions(["livekit-agents", "moonshine-voice"]),
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
