"""A second worker beside the stack's: its persona has keys, transfers, cards and voicemail.

Its language model is a script, so that a test decides what the agent does. All else is the stack's
own: livekit-server, livekit-sip, Redis and the speech server.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from livekit.protocol.agent_dispatch import RoomAgentDispatch
from livekit.protocol.room import RoomConfiguration
from livekit.protocol.sip import (
    CreateSIPDispatchRuleRequest,
    CreateSIPInboundTrunkRequest,
    CreateSIPOutboundTrunkRequest,
    DeleteSIPDispatchRuleRequest,
    DeleteSIPTrunkRequest,
    ListSIPOutboundTrunkRequest,
    SIPDispatchRule,
    SIPDispatchRuleCallee,
    SIPDispatchRuleInfo,
    SIPInboundTrunkInfo,
    SIPOutboundTrunkInfo,
)

from bench.call.worker_process import LoggedWorker, further_worker
from bench.children import free_port
from tests.isolated_network import NEAR_IPV4
from tests.phone_stack import PhoneStack
from tests.scripted_model import MODEL, Script, ScriptedModel, scripted_model
from tests.softphone import Softphone, softphone

AGENT = "desk"
NUMBER = "+15550102"
"""Answered by the desk, for whoever calls from the telephones' address."""
COLLEAGUE = "+15550122"
"""Takes transfers; whoever is called through the trunk is at one port of ours."""
_POLL_S = 0.1

GREETING = "Hello, this is the front desk. I am a machine. How can I help you?"
FAILED_WORDS = "I am sorry, nobody is free right now."
MESSAGE = "This is the desk, a machine. Please call us back about your bicycle."

PERSONA = """\
name: {name}
disclosure: I am a machine.
greeting: {greeting}
instructions: You are the desk of a bicycle shop.
tools: [take_card, press_keys, end_call]
transfers_to: [{destinations}]
phone:
  numbers: [{numbers}]
  keys:
    menu: {{"1": I would like to book a test ride.}}
    pause_s: 1.0
  transfer_words: One moment, please.
  transfer_failed_words: {failed_words}
  offer_words: To take this call, press one.
  {voicemail}
  transfers:
    sales: {{number: "{colleague}", when: Buying., how: warm, ringing_s: 5}}
    accounts: {{number: "sip:{colleague}@{address}", when: Invoices., ringing_s: 5}}
"""


@dataclass(frozen=True)
class DeskWorker:
    """The worker while it runs."""

    stack: PhoneStack
    model: ScriptedModel
    running: LoggedWorker
    metrics_url: str
    outside: tuple[str, int]
    """Where the trunk leads: address and port of whoever is called."""

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Break off what is done within once the worker has ended: it would wait in vain.

        Raises:
            RuntimeError: the worker has ended; the message holds the last lines of its log.
        """
        self.running.raise_if_ended()
        task = asyncio.current_task()
        assert task is not None
        watch = asyncio.create_task(self._break_off(task))
        try:
            yield
        except asyncio.CancelledError:
            self.running.raise_if_ended()
            raise
        finally:
            watch.cancel()

    async def _break_off(self, task: asyncio.Task[None]) -> None:
        while self.running.process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
        # a telephone of the same test may have done so
        if not task.cancelling():
            task.cancel()


@dataclass(frozen=True)
class Desk:
    """The worker, and the trunks that lead to it and out."""

    worker: DeskWorker
    trunk_id: str
    """Of calls that go out."""

    @property
    def stack(self) -> PhoneStack:
        """The stack that it belongs to."""
        return self.worker.stack

    @property
    def model(self) -> ScriptedModel:
        """What it thinks with."""
        return self.worker.model

    @asynccontextmanager
    async def call(
        self, folder: Path, script: Script, user: str = "+15550112"
    ) -> AsyncIterator[Softphone]:
        """Call the desk, hear it out, and hang up in the end; then nothing of the call is left."""
        self.model.script = script
        async with self.worker.alive():
            async with softphone(folder, user) as phone:
                await phone.dial(f"sip:{NUMBER}@{self.stack.address}")
                await phone.until_audible()
                await phone.until_silent()
                yield phone
                await phone.hang_up()
            await self.stack.until_no_room_is_left()

    @asynccontextmanager
    async def colleague(self, folder: Path) -> AsyncIterator[Softphone]:
        """A telephone that takes the calls that go out."""
        port = self.worker.outside[1]
        async with (
            self.worker.alive(),
            softphone(folder, COLLEAGUE, port=port, answers=True) as phone,
        ):
            yield phone


@contextmanager
def running_desk_worker(stack: PhoneStack, personas: Path) -> Iterator[DeskWorker]:
    """Run it beside the stack's own worker; stop it at the end.

    Args:
        stack: the stack.
        personas: an empty folder.

    Raises:
        AssertionError: it ended with a status.
    """
    outside = (NEAR_IPV4, free_port(socket.SOCK_DGRAM, NEAR_IPV4))
    _write_personas(personas, f"{outside[0]}:{outside[1]}")
    metrics_port = free_port()
    metrics_url = f"http://127.0.0.1:{metrics_port}/metrics"
    with (
        scripted_model() as model,
        _running_worker(stack, model, personas, metrics_port) as running,
    ):
        yield DeskWorker(stack, model, running, metrics_url, outside)
    status = running.process.returncode
    assert status == 0, f"the desk's worker ended with status {status}"


@contextmanager
def provisioned(worker: DeskWorker) -> Iterator[Desk]:
    """The desk with trunks of its own; they are gone in the end."""
    trunk_ids, rule_id = asyncio.run(_provision(worker))
    yield Desk(worker, trunk_ids[-1])
    asyncio.run(_withdraw(worker.stack, trunk_ids, rule_id))


@pytest.fixture(scope="session")
def desk_worker(
    phone_stack: PhoneStack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeskWorker]:
    """One such worker for the whole test session."""
    with running_desk_worker(phone_stack, tmp_path_factory.mktemp("personas")) as worker:
        yield worker


@pytest.fixture(scope="module")
def desk(desk_worker: DeskWorker) -> Iterator[Desk]:
    """The desk with trunks that other modules do not see."""
    with provisioned(desk_worker) as desk:
        yield desk


def _running_worker(
    stack: PhoneStack, model: ScriptedModel, personas: Path, metrics_port: int
) -> AbstractContextManager[LoggedWorker]:
    settings = {
        "PARLEY_CARD_TOKENISER": "local",
        "PARLEY_LLM_MODEL": MODEL,
        "PARLEY_LLM_URL": model.url,
        "PARLEY_PERSONA": "desk",
        "PARLEY_PERSONAS_DIR": os.fspath(personas),
        "PARLEY_WORKER_METRICS_PORT": str(metrics_port),
    }
    return further_worker(stack.stack, AGENT, settings)


def _write_personas(folder: Path, address: str) -> None:
    """The desk; and the same where it leaves no messages."""
    for name, numbers, voicemail in (
        ("desk", f'"{NUMBER}"', f"voicemail_message: {MESSAGE}"),
        ("desk_without_message", "", ""),
    ):
        (folder / f"{name}.yaml").write_text(
            PERSONA.format(
                name=name,
                greeting=GREETING,
                failed_words=FAILED_WORDS,
                destinations="sales, accounts",
                numbers=numbers,
                voicemail=voicemail,
                colleague=COLLEAGUE,
                address=address,
            )
        )


async def _provision(worker: DeskWorker) -> tuple[list[str], str]:
    """Make the trunks, the one that leads out last, and the rule; return their ids."""
    address, port = worker.outside
    rule = SIPDispatchRule(
        dispatch_rule_callee=SIPDispatchRuleCallee(room_prefix="desk-", randomize=True)
    )
    async with worker.stack.api() as server:
        sip = server.sip
        # a warm transfer takes the server's only trunk; other modules make theirs anew
        for trunk in (await sip.list_outbound_trunk(ListSIPOutboundTrunkRequest())).items:
            await sip.delete_trunk(DeleteSIPTrunkRequest(sip_trunk_id=trunk.sip_trunk_id))
        inbound = await sip.create_inbound_trunk(
            CreateSIPInboundTrunkRequest(
                trunk=SIPInboundTrunkInfo(
                    name="desk", numbers=[NUMBER], allowed_addresses=[NEAR_IPV4]
                )
            )
        )
        outbound = await sip.create_outbound_trunk(
            CreateSIPOutboundTrunkRequest(
                trunk=SIPOutboundTrunkInfo(
                    name="colleagues", address=f"{address}:{port}", numbers=[NUMBER]
                )
            )
        )
        made = await sip.create_dispatch_rule(
            CreateSIPDispatchRuleRequest(
                dispatch_rule=SIPDispatchRuleInfo(
                    name="desk",
                    trunk_ids=[inbound.sip_trunk_id],
                    rule=rule,
                    room_config=RoomConfiguration(agents=[RoomAgentDispatch(agent_name=AGENT)]),
                )
            )
        )
    return [inbound.sip_trunk_id, outbound.sip_trunk_id], made.sip_dispatch_rule_id


async def _withdraw(stack: PhoneStack, trunk_ids: list[str], rule_id: str) -> None:
    async with stack.api() as server:
        await server.sip.delete_dispatch_rule(
            DeleteSIPDispatchRuleRequest(sip_dispatch_rule_id=rule_id)
        )
        for trunk_id in trunk_ids:
            await server.sip.delete_trunk(DeleteSIPTrunkRequest(sip_trunk_id=trunk_id))
