"""sipp as a caller who follows one of our scenarios to the letter."""

import asyncio
import socket
from pathlib import Path

from bench.children import free_port
from tests.isolated_network import NEAR_IPV4

SCENARIOS = Path(__file__).parent / "fixtures" / "sipp"


async def sipp(
    scenario: str,
    server: str,
    folder: Path,
    *,
    number: str,
    source: str = NEAR_IPV4,
    calls: int = 1,
    per_second: int = 1,
) -> None:
    """Make calls and compare every message with the scenario.

    Args:
        scenario: file name in tests/fixtures/sipp, without its ending.
        server: who is called, `HOST:PORT`.
        folder: for what sipp writes.
        number: the number that is dialled.
        source: the caller's own address.
        calls: how many calls.
        per_second: how many of them begin in a second.

    Raises:
        AssertionError: it did not go as the scenario says; the message tells what was exchanged.
    """
    messages = folder / f"{scenario}.log"
    port = free_port(socket.SOCK_DGRAM, source)
    process = await asyncio.create_subprocess_exec(
        "sipp", server, "-sf", SCENARIOS / f"{scenario}.xml", "-s", number,
        "-i", source, "-p", str(port), "-mi", source,
        "-m", str(calls), "-r", str(per_second), "-nostdin",
        "-trace_msg", "-message_file", messages,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={"TERM": "dumb", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    try:
        screen, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        exchanged = screen.decode("utf-8", "replace") + await asyncio.to_thread(_read, messages)
        raise AssertionError(
            f"not as in {scenario}.xml (status {process.returncode}):\n{exchanged}"
        )


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
