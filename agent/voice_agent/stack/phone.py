"""The telephone's part of the stack: Redis and livekit-sip, found and configured together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from voice_agent.stack.errors import StackError
from voice_agent.stack.go_program import Say
from voice_agent.stack.ports import PortWish
from voice_agent.stack.processes import Program
from voice_agent.stack.program_finder import FoundProgram, ProgramFinder
from voice_agent.stack.redis_server import (
    DATA_FOLDER,
    RedisAddress,
    redis_finder,
    write_redis_config,
)
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.sip_server import SOUND_VARIABLES, sip_finder, write_sip_config

REDIS_READY = re.compile(r"Ready to accept connections")
"""Source: redis 7.0, server.c, and valkey 8.1, server.c."""
REDIS_RESTARTS = 5
"""How often Redis is started again in the life of a stack: calls go on without it, and what it
holds is on disk. One that ends more often needs a person."""
SIP_READY = re.compile(r"sip signaling listening on.*tcp")
"""The last socket of signalling. Its health page would listen on every interface.
Source: livekit-sip 1.8.0, pkg/sip/server.go, `startTCP`."""


@dataclass(frozen=True)
class Phone:
    """Everything that is decided about the telephone before it is started.

    Attributes:
        redis: the Redis to start.
        redis_config: its configuration file.
        sip: the livekit-sip to start.
        sip_config: its configuration file.
        address: where a telephone finds livekit-sip, `HOST:PORT`.
    """

    redis: FoundProgram
    redis_config: Path
    sip: FoundProgram
    sip_config: Path
    address: str

    def redis_program(self, environment: Mapping[str, str]) -> Program:
        """Redis; livekit-server and livekit-sip end at once where they do not find it.

        It carries no sound itself, but no call begins without it.
        """
        return Program(
            "redis",
            (*self.redis.command, self.redis_config),
            environment,
            ready_line=REDIS_READY,
            cleanup=self.redis.cleanup,
            restarts=REDIS_RESTARTS,
            carries_sound=True,
        )

    def sip_program(self, environment: Mapping[str, str]) -> Program:
        """livekit-sip."""
        # Its own variables (SIP_CONFIG_BODY, LIVEKIT_WS_URL) would win over the file.
        others = {k: v for k, v in environment.items() if not k.startswith(("LIVEKIT_", "SIP_"))}
        return Program(
            "sip",
            (*self.sip.command, "--config", self.sip_config),
            {**SOUND_VARIABLES, **others},
            ready_line=SIP_READY,
            cleanup=self.sip.cleanup,
            carries_sound=True,
        )


def phone_port_wishes(settings: RunSettings) -> list[PortWish]:
    """The ports of the telephone's programs; none where there is no telephone."""
    if not settings.phone:
        return []
    return [
        PortWish("Redis", "PARLEY_REDIS_PORT", settings.redis_port),
        PortWish("livekit-sip", "PARLEY_SIP_PORT", settings.sip_port, "tcp+udp"),
    ]


def phone_finders(
    settings: RunSettings, home: Path, environment: Mapping[str, str], say: Say
) -> tuple[ProgramFinder, ProgramFinder]:
    """What looks for Redis, and what looks for livekit-sip."""
    return (
        redis_finder(home, settings.redis_server_bin, environment, say),
        sip_finder(home, settings.livekit_sip_bin, environment, say),
    )


async def prepare_phone(
    settings: RunSettings,
    home: Path,
    environment: Mapping[str, str],
    *,
    ports: Mapping[str, int],
    redis: RedisAddress,
    livekit_url: str,
    credentials: tuple[str, SecretStr],
    say: Say,
) -> Phone:
    """Find, or build, Redis and livekit-sip, and write their configurations.

    Raises:
        StackError: one of them is missing and cannot be had; the message says what to install.
    """
    port, told = ports["PARLEY_SIP_PORT"], settings.sip_address or settings.sip_listen
    api_key, api_secret = credentials
    redis_config = write_redis_config(home, redis)
    sip_config = write_sip_config(
        home,
        livekit_url=livekit_url,
        api_key=api_key,
        api_secret=api_secret,
        redis=redis,
        port=port,
        listen=str(settings.sip_listen),
        address=str(told),
        rtp_ports=settings.sip_rtp_ports,
        first_sound_s=settings.sip_first_sound_s,
        sound_gone_s=settings.sip_sound_gone_s,
    )
    find_redis, find_sip = phone_finders(settings, home, environment, say)
    redis_program = await find_redis.find_or_provide(redis_config, home / DATA_FOLDER)
    sip_program = await find_sip.find_or_provide(sip_config)
    for finder, found in ((find_redis, redis_program), (find_sip, sip_program)):
        say(f"{finder.wanted.name} {found.version} ({found.origin})")
    return Phone(redis_program, redis_config, sip_program, sip_config, f"{told}:{port}")


def no_phone_beside(livekit_url: str) -> StackError:
    """The error for a telephone that is wanted beside a livekit-server that we did not start."""
    return StackError(
        f"PARLEY_PHONE starts livekit-sip beside our own livekit-server, but {livekit_url} is set",
        "Unset LIVEKIT_URL; or unset PARLEY_PHONE and run livekit-sip beside that server.",
    )
