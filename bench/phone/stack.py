"""The stack that is called, by telephone and through WebRTC, with the bench's scripted model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from bench.call.engines import REAL
from bench.call.wirings import LONG_PERSONA, OURS, SHORT_PERSONA, CallStack, call_stack
from tests.isolated_network import NEAR_IPV4
from tests.phone_network import livekit_sip
from tests.phone_stack import PhoneStack, apply_trunks
from voice_agent.caller.token_client import JoinTicket
from voice_agent.stack.running_stack import RunningStack, read_running_stack
from voice_agent.stack.settings import RunSettings

HERE: Final = NEAR_IPV4
"""The telephones' address, and livekit-sip's."""
SHORT_NUMBER: Final = "+15550100"
"""Answered in short sentences. Numbers with 555-01 are nobody's."""
LONG_NUMBER: Final = "+15550101"
"""Answered at length."""


@dataclass(frozen=True)
class CalledStack:
    """A running stack that answers telephones and browsers."""

    calls: CallStack
    phones: PhoneStack
    running: RunningStack

    @property
    def address(self) -> str:
        """livekit-sip, `HOST:PORT`."""
        return self.phones.address

    def browser_ticket(self) -> JoinTicket:
        """A new room with the agent in it, for a browser."""
        return self.calls.ticket(OURS)


@contextmanager
def called_stack(settings: Mapping[str, str], logs: Path) -> Iterator[CalledStack]:
    """Run the stack with its telephone; stop it at the end.

    Args:
        settings: further settings of ours, by their lower-case name without prefix.
        logs: folder that every process's log is left in.

    Raises:
        AssertionError, RuntimeError, PeerUnavailable, subprocess.SubprocessError: something did
            not start.
    """
    own = {
        "phone": "1",
        "redis_port": "0",
        "sip_port": "0",
        "sip_listen": HERE,
        "livekit_sip_bin": str(livekit_sip()),
        # tests run without; nothing runs beside a bench
        "niceness": str(RunSettings.model_fields["niceness"].default),
    }
    with call_stack(REAL, {**own, **settings}, logs) as calls:
        running = read_running_stack(calls.stack.home)
        assert running is not None, "the stack has ended"
        assert running.sip_address is not None, "the stack has no telephone"
        _make_trunks(calls)
        yield CalledStack(calls, PhoneStack(calls.stack, running.sip_address), running)


def _make_trunks(calls: CallStack) -> None:
    """Lead each number to its persona."""
    personas = {SHORT_NUMBER: SHORT_PERSONA, LONG_NUMBER: LONG_PERSONA}
    trunks = {
        "inbound": {"bench": {"numbers": list(personas), "allowed_addresses": [HERE]}},
        "rules": {
            persona.replace("_", "-"): {
                "trunks": ["bench"], "numbers": [number], "persona": persona
            }
            for number, persona in personas.items()
        },
    }  # fmt: skip
    file = calls.stack.home / "trunks.yaml"
    file.write_text(yaml.safe_dump(trunks), encoding="utf-8")
    apply_trunks(calls.stack, file, PARLEY_PERSONAS_DIR=str(calls.stack.home / "personas"))
