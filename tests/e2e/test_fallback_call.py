"""A whole call whose speech server and language server are stopped while it runs.

The second speech server hears with another engine than the first: with Whisper.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

from bench.children import await_port, child, free_port
from tests import micro_whisper
from tests.e2e.test_call import CONVERSATION, bookings, call
from tests.speech_server_process import speech_server_process
from tests.stack import Stack, running_stack

pytestmark = pytest.mark.timeout(320)

SPOKEN = 'speech_ttfb_seconds_count{service="tts"}'


async def replies_spoken(url: str) -> float:
    async with httpx.AsyncClient() as http:
        lines = (await http.get(f"{url}/metrics")).text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(SPOKEN))


async def stop_after_the_first_answer(stack: Stack) -> None:
    """SIGSTOP: connections stay open and say nothing."""
    # The greeting and an answer; there is no event of the other process to wait for.
    while await replies_spoken(stack.speech_url) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    for name in ("speech", "responder"):
        os.killpg(stack.processes[name], signal.SIGSTOP)


async def test_a_call_goes_on_with_the_second_providers(tmp_path: Path) -> None:
    port = free_port()
    spare_model = ["env", f"PARLEY_LANGUAGE_PORT={port}", sys.executable, "-m", "language_server"]
    home = tmp_path / "home"
    home.mkdir()
    whisper = speech_server_process(**micro_whisper.SETTINGS)
    with whisper as spare, child(spare_model) as process:
        await_port(port, process, "language server")
        with running_stack(
            home,
            PARLEY_STT_FALLBACK_URL=spare.url,
            PARLEY_TTS_FALLBACK_URL=spare.url,
            PARLEY_LLM_FALLBACK_URL=f"http://127.0.0.1:{port}/v1",
        ) as stack:
            stopping = asyncio.create_task(stop_after_the_first_answer(stack))
            try:
                result = await call(stack, tmp_path, *CONVERSATION)
            finally:
                stopping.cancel()
                for name in ("speech", "responder"):
                    os.killpg(stack.processes[name], signal.SIGCONT)
        assert result.status == 0, result.output
        turns = result.report["turns"]
        assert all(turn["voice_to_voice_s"] is not None for turn in turns)
        heard = "\n".join(f"{turn['heard_by_agent']!r} -> {turn['reply']!r}" for turn in turns)
        assert ("Peter Miller", "15:30") in bookings(stack), heard
        # one turn may suffer from a machine that is too busy to send every frame in time
        misheard = [turn for turn in turns[2:] if turn["heard_by_agent"] != turn["said"]]
        assert len(misheard) <= 1, heard
        assert await replies_spoken(spare.url) >= 3
