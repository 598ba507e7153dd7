"""`python -m bench.transfer`: how soon a caller is put through, and what silence they hear.

On the tests' desk: a real livekit-sip, baresip as the caller and as the person called, a language
model that is a script and takes no time. The person answers at once.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Table

from bench.cells import ms
from bench.console import wide_console
from bench.machine import as_result
from bench.options import BAD_INPUT, BadOption, JsonFile, check_outputs, fail
from bench.percentiles import Percentiles
from bench.phone.stack import called_stack
from tests.phone_desk import Desk, provisioned, running_desk_worker
from tests.phone_network import restart_inside, why_no_callers, why_no_telephone
from tests.phone_talk import hear_answer
from tests.phone_transfers import COLD, SCRIPT, WARM, begin_transfer
from tests.telephone_sound import longest_silence_s
from voice_agent.settings import home_dir

_LIMIT_S: Final = 90.0
"""For one transfer and the call around it."""
_PACKAGES: Final = ("parley", "livekit", "livekit-agents")


@dataclass(frozen=True)
class Transfer:
    """One caller who was put through."""

    how: str
    """`cold` (REFER, by the caller's own carrier) or `warm` (by the agent)."""
    answered_s: float
    """From the key that ends what the caller asks for, to the person's telephone being answered:
    cold by the caller, who can talk from then on, warm by the agent."""
    joined_s: float | None
    """Warm: from the person's key that takes the call to the first sound they hear then."""
    longest_silence_s: float
    """Of what the caller hears from the agent's first words until then."""


def transfer(
    each: Annotated[int, typer.Option("--each", min=1, max=50, help="Transfers of each kind.")] = 5,
    json_file: JsonFile = None,
) -> None:
    """Put callers through, cold and warm in turns, and time it."""
    try:
        check_outputs(json_file, None)
    except BadOption as error:
        fail(str(error), BAD_INPUT)
    if reason := why_no_telephone() or why_no_callers():
        fail(f"no telephone can be called here: {reason}", BAD_INPUT)
    restart_inside([sys.executable, "-m", "bench.transfer", *sys.argv[1:]])
    done = _measured(each)
    wide_console().print(_table(done))
    if json_file is not None:
        record = as_result(_summary(done), _PACKAGES, transfers=[asdict(one) for one in done])
        json_file.write_text(f"{json.dumps(record, indent=2)}\n", encoding="utf-8")


def _measured(each: int) -> list[Transfer]:
    logs = home_dir() / "bench" / "transfer-logs"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        personas = folder / "personas"
        personas.mkdir()
        with (
            called_stack({}, logs) as stack,
            running_desk_worker(stack.phones, personas) as worker,
            provisioned(worker) as desk,
        ):
            return asyncio.run(_all(desk, folder, each))


async def _all(desk: Desk, folder: Path, each: int) -> list[Transfer]:
    done = []
    for number in range(each):
        for put_through in (_cold, _warm):
            own = folder / f"{put_through.__name__}{number}"
            own.mkdir()
            async with asyncio.timeout(_LIMIT_S):
                done.append(await put_through(desk, own))
    return done


async def _cold(desk: Desk, folder: Path) -> Transfer:
    async with (
        desk.colleague(folder / "person"),
        desk.call(folder / "caller", SCRIPT) as caller,
    ):
        asked_s, began = await begin_transfer(caller, COLD)
        await caller.transferred()
        answered_s = time.monotonic() - asked_s
        silence_s = longest_silence_s(caller.heard_before()[began:])
    return Transfer("cold", answered_s, None, silence_s)


async def _warm(desk: Desk, folder: Path) -> Transfer:
    async with (
        desk.colleague(folder / "person") as person,
        desk.call(folder / "caller", SCRIPT) as caller,
    ):
        asked_s, began = await begin_transfer(caller, WARM)
        await person.answered()
        answered_s = time.monotonic() - asked_s
        await hear_answer(person, 0)
        due, taken_s = person.heard().size, time.monotonic()
        await person.press("1", gap_s=0)
        await person.until_audible(due)
        joined_s = time.monotonic() - taken_s
        silence_s = longest_silence_s(caller.heard()[began:])
        await person.hang_up()
        await caller.ended()
    return Transfer("warm", answered_s, joined_s, silence_s)


def _summary(done: Sequence[Transfer]) -> dict[str, float]:
    summary: dict[str, float] = {}
    for how in ("cold", "warm"):
        mine = [one for one in done if one.how == how]
        times = {
            "answered": [one.answered_s for one in mine],
            "joined": [one.joined_s for one in mine if one.joined_s is not None],
            "longest_silence": [one.longest_silence_s for one in mine],
        }
        for what, values in times.items():
            if found := Percentiles.of(values):
                summary |= {f"{how}_{what}_p50_s": found.p50, f"{how}_{what}_max_s": max(values)}
    return summary


def _table(done: Sequence[Transfer]) -> Table:
    summary = _summary(done)
    table = Table(title="Transfers, ms")
    names = {"answered": "person answered", "joined": "joined", "longest_silence": "silence"}
    for name in (
        "kind",
        "number",
        *(f"{name} {of}" for name in names.values() for of in ("p50", "max")),
    ):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for how in ("cold", "warm"):
        table.add_row(
            how, str(sum(one.how == how for one in done)),
            *(ms(summary.get(f"{how}_{key}_{of}_s")) for key in names for of in ("p50", "max")),
        )  # fmt: skip
    return table


if __name__ == "__main__":
    typer.run(transfer)
