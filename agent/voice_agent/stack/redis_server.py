"""Redis, which livekit-server and livekit-sip share: which one the stack runs, and how.

It holds the trunks and the dispatch rules, so it is kept on disk, and their credentials, so it asks
for a password, new at every start.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from voice_agent.stack.go_program import Say
from voice_agent.stack.ports import LOOPBACK
from voice_agent.stack.private_file import write_private
from voice_agent.stack.program_finder import ProgramFinder, Wanted

CONFIG_FILE = "redis.conf"
DATA_FOLDER = "redis"
PINNED_VERSION = "8.1.11"
"""Of Valkey, the Redis that deploy/compose.yaml runs."""
MAX_MEMORY_BYTES = 256_000_000
"""Far above what calls need: a room is some kilobytes."""

REDIS = Wanted(
    name="redis-server",
    setting="PARLEY_REDIS_SERVER_BIN",
    file_names=("redis-server", "valkey-server"),
    pinned=PINNED_VERSION,
    oldest=(6, 0),
    newest_major=9,
    image=f"valkey/valkey:{PINNED_VERSION}-alpine",
    install="Install one of: redis-server (Debian, Ubuntu: `sudo apt-get install redis-server`; "
    "macOS: `brew install redis`); Docker.",
    # As ourselves, so that it may read our configuration and we may remove its data.
    image_options=("--user", f"{os.getuid()}:{os.getgid()}"),
    image_command=("valkey-server",),
)


@dataclass(frozen=True)
class RedisAddress:
    """A Redis on this machine.

    Attributes:
        port: its TCP port.
        password: what it asks for.
    """

    port: int
    password: str = field(repr=False)

    def as_livekit_reads_it(self) -> dict[str, str]:
        """The `redis` section of livekit-server's and livekit-sip's configuration."""
        return {"address": f"{LOOPBACK}:{self.port}", "password": self.password}


def new_address(port: int) -> RedisAddress:
    """An address with a fresh password."""
    return RedisAddress(port, secrets.token_urlsafe(32))


def redis_finder(
    home: Path, configured: Path | None, environment: Mapping[str, str], say: Say
) -> ProgramFinder:
    """What looks for Redis; the arguments are those of `ProgramFinder`."""
    return ProgramFinder(REDIS, home, configured, environment, say)


def write_redis_config(home: Path, address: RedisAddress) -> Path:
    """Write its configuration, loopback only, and make the folder that it keeps its data in."""
    data = home / DATA_FOLDER
    data.mkdir(mode=0o700, exist_ok=True)
    path = home / CONFIG_FILE
    write_private(
        path,
        "# Made by `parley run` at every start; changes here are lost.\n"
        f"bind {LOOPBACK}\n"
        f"port {address.port}\n"
        f"requirepass {address.password}\n"
        f'dir "{data}"\n'
        "appendonly yes\n"
        'save ""\n'
        f"maxmemory {MAX_MEMORY_BYTES}\n"
        # A trunk must not be thrown out for a room.
        "maxmemory-policy noeviction\n",
    )
    return path
