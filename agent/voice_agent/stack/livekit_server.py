"""livekit-server: which one the stack runs, and its configuration."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import SecretStr

from voice_agent.stack.go_program import GoProgram, Say
from voice_agent.stack.ports import LOOPBACK
from voice_agent.stack.private_file import write_private
from voice_agent.stack.program_finder import ProgramFinder, Wanted
from voice_agent.stack.redis_server import RedisAddress

PINNED_VERSION = "1.13.5"
"""Newest release that builds by module version alone: later ones carry `replace` lines."""
CONFIG_FILE = "livekit.yaml"

LIVEKIT_SERVER = Wanted(
    name="livekit-server",
    setting="PARLEY_LIVEKIT_SERVER_BIN",
    file_names=("livekit-server",),
    pinned=PINNED_VERSION,
    oldest=(1, 9),
    newest_major=1,
    image=f"livekit/livekit-server:v{PINNED_VERSION}",
    install="Install one of: Go 1.26 or newer (https://go.dev/dl; `make run` then builds it in "
    f"about 2 minutes); livekit-server {PINNED_VERSION} (macOS: `brew install livekit`; "
    "others: https://github.com/livekit/livekit/releases); Docker.",
    go=GoProgram(
        name="livekit-server",
        module="github.com/livekit/livekit-server",
        package="./cmd/server",
        version=PINNED_VERSION,
    ),
)


def livekit_server_finder(
    home: Path, configured: Path | None, environment: Mapping[str, str], say: Say
) -> ProgramFinder:
    """What looks for livekit-server; the arguments are those of `ProgramFinder`."""
    return ProgramFinder(LIVEKIT_SERVER, home, configured, environment, say)


def write_config(
    home: Path,
    *,
    port: int,
    udp_port: int,
    api_key: str,
    api_secret: SecretStr,
    redis: RedisAddress | None = None,
) -> Path:
    """Write livekit-server's configuration: loopback only, nothing that calls out, all bounded.

    The file holds the secret, so only its owner may read it.

    Args:
        home: folder for the file.
        port: TCP port of signalling and the room API.
        udp_port: UDP port of all media.
        api_key: API key of our other processes.
        api_secret: its secret.
        redis: what livekit-server shares with livekit-sip; None where there is no telephone.
    """
    config = {
        "port": port,
        "bind_addresses": [LOOPBACK],
        "keys": {api_key: api_secret.get_secret_value()},
        "logging": {"level": "info", "json": False},
        **({"redis": redis.as_livekit_reads_it()} if redis else {}),
        "rtc": {
            "udp_port": udp_port,
            # Left out, it is 7881 on every interface, whatever bind_addresses says.
            "tcp_port": 0,
            "use_external_ip": False,
            "node_ip": LOOPBACK,
            "enable_loopback_candidate": True,
            "interfaces": {"includes": _loopback_interfaces()},
            # Left out, the server sends its clients to public STUN servers.
            "stun_servers": [f"{LOOPBACK}:3478"],
        },
        "room": {
            # A caller's token brings the room's configuration, the agent's dispatch among it;
            # that is read when the caller's join creates the room.
            "auto_create": True,
            "empty_timeout": 30,
            "departure_timeout": 5,
            # The caller, the agent, a person who takes over, a supervisor.
            "max_participants": 4,
            "enabled_codecs": [{"mime": "audio/opus"}, {"mime": "audio/red"}],
        },
        "limit": {
            "max_metadata_size": 4096,
            "max_attributes_size": 16384,
            "max_room_name_length": 128,
            "max_participant_identity_length": 128,
            "max_participant_name_length": 128,
        },
    }
    path = home / CONFIG_FILE
    head = "# Made by `parley run` at every start; changes here are lost.\n"
    write_private(path, head + yaml.safe_dump(config, sort_keys=False))
    return path


def _loopback_interfaces() -> list[str]:
    # Linux calls it lo, macOS and the BSDs lo0; a name that does not exist is ignored.
    return ["lo", "lo0"]
