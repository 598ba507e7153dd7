"""Waits until every program can be used, and says which one cannot and why."""

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import aiohttp
from pydantic import ValidationError

from speech_server.protocol.rest import Health
from voice_agent.stack.errors import StackError
from voice_agent.stack.processes import ProcessGroup, RunningProgram

POLL_S = 0.1
"""Time between two questions to one program, seconds."""
ANSWER_TIMEOUT_S = 2.0
"""Longest wait for one answer, seconds."""
ANSWER_MAX_BYTES = 2_000
"""How much of an answer is read to say why a program is not ready."""
PROGRESS_S = 15.0
"""Time between two lines that say what is still waited for, seconds."""


async def wait_until_ready(
    group: ProcessGroup,
    *,
    timeout_s: float,
    log_dir: Path = Path("logs"),
    tell: Callable[[str], None] | None = None,
    progress_s: float = PROGRESS_S,
) -> None:
    """Return once every running program of the group is ready.

    Args:
        group: the programs.
        timeout_s: longest wait for all of them, seconds.
        log_dir: where the errors say that the log files are.
        tell: takes a line now and then that says what is still waited for.
        progress_s: time between two such lines, seconds.

    Raises:
        StackError: a program ended, failed to load its engine, or was not ready in time; the
            message names it.
    """
    states = {running.name: "starting" for running in group.running}
    everything = asyncio.create_task(_wait_for_all(group, states, log_dir))
    exited = asyncio.create_task(group.first_exit())
    progress = asyncio.create_task(_tell_progress(states, tell, progress_s))
    try:
        await asyncio.wait(
            [everything, exited], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        if exited.done():
            raise ended(exited.result(), log_dir)
        if not everything.done():
            raise _too_late(states, timeout_s, log_dir)
        await everything
    finally:
        tasks = (everything, exited, progress)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def ended(running: RunningProgram, log_dir: Path) -> StackError:
    """The error for a program that ended while it was needed."""
    status = running.returncode
    if status is not None and status < 0:
        how = f"was killed by signal {-status}"
    else:
        how = f"ended with status {status}"
    return StackError(
        f"{running.name} {how}", f"Its last lines are in {_log(log_dir, running.name)}."
    )


async def ask(session: aiohttp.ClientSession, url: str) -> str | None:
    """None when the URL answers 200; else what it said, or why there was no answer."""
    try:
        async with session.get(url, allow_redirects=False) as response:
            if response.status == 200:
                return None
            body = await response.content.read(ANSWER_MAX_BYTES)
            return f"{response.status} {body.decode('utf-8', 'replace')}".strip()
    except TimeoutError:
        return f"no answer within {ANSWER_TIMEOUT_S:g} s"
    except aiohttp.ClientError as error:
        return str(error) or type(error).__name__


def client_session() -> aiohttp.ClientSession:
    """A session for questions on this machine: short time limits, no proxies."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=ANSWER_TIMEOUT_S), trust_env=False
    )


async def _wait_for_all(group: ProcessGroup, states: dict[str, str], log_dir: Path) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            for running in group.running:
                tasks.create_task(_wait_for(running, states, log_dir))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _wait_for(running: RunningProgram, states: dict[str, str], log_dir: Path) -> None:
    url = running.program.ready_url
    if url is not None:
        async with client_session() as session:
            while (state := await ask(session, url)) is not None:
                states[running.name] = state
                if why := _failure(state):
                    raise StackError(
                        f"{running.name} cannot be used: {why}",
                        f"More is in {_log(log_dir, running.name)}.",
                    )
                await asyncio.sleep(POLL_S)
    states[running.name] = "answers, but has not yet said that it is ready"
    await running.announced_ready.wait()
    del states[running.name]


async def _tell_progress(
    states: dict[str, str], tell: Callable[[str], None] | None, every_s: float
) -> None:
    began_at = time.monotonic()
    while tell is not None:
        await asyncio.sleep(every_s)
        waited_s = time.monotonic() - began_at
        tell(f"Waiting for {', '.join(states)} ({waited_s:.0f} s so far).")


def _failure(state: str) -> str | None:
    """Why a speech server will never be ready: the roles that failed, or None."""
    try:
        health = Health.model_validate_json(state.partition(" ")[2])
    except ValidationError:
        return None
    failed = (what for what in health.roles.values() if what.startswith("failed: "))
    return "; ".join(what.removeprefix("failed: ") for what in failed) or None


def _too_late(states: dict[str, str], timeout_s: float, log_dir: Path) -> StackError:
    waiting: Iterable[str] = (f"{name} ({state})" for name, state in states.items())
    return StackError(
        f"not ready after {timeout_s:g} s: {', '.join(waiting)}",
        f"Look into {', '.join(_log(log_dir, name) for name in states)}; "
        f"on a slow machine give it longer: PARLEY_READY_TIMEOUT_S={2 * timeout_s:g}.",
    )


def _log(log_dir: Path, name: str) -> str:
    return str(log_dir / f"{name}.log")
