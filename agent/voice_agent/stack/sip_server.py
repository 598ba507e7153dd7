"""livekit-sip, the telephone's way into a room: which one the stack runs, and its configuration."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import SecretStr

from voice_agent.stack.go_program import GoProgram, Say
from voice_agent.stack.private_file import write_private
from voice_agent.stack.program_finder import ProgramFinder, Wanted
from voice_agent.stack.redis_server import RedisAddress

PINNED_VERSION = "1.8.0"
"""Newest release whose module is to be had from the Go proxy."""
CONFIG_FILE = "sip.yaml"

DRAINING_S = 5
"""How long a media port is kept from the next call, for packets of the last one, seconds.
livekit-sip's own default of 30 would use up a small range of ports."""

SOUND_VARIABLES: Mapping[str, str] = {"SOXR_LARGE_DFT_SIZE": "8"}
"""Environment variables for short blocks in its resampler, of 2^8 samples instead of 2^10.

From 8 to 48 kHz it then holds back up to 12 ms instead of 60, from 48 to 8 kHz up to 8 ms instead
of 40, and gives the same samples but for the dither. Source: libsoxr 0.1.3, which reads this;
measured in steps of 20 ms at livekit-sip's quality, LQ.
"""

LIVEKIT_SIP = Wanted(
    name="livekit-sip",
    setting="PARLEY_LIVEKIT_SIP_BIN",
    file_names=("livekit-sip",),
    pinned=PINNED_VERSION,
    oldest=(1, 8),
    newest_major=1,
    image=f"livekit/sip:v{PINNED_VERSION}",
    install="Install one of: Go 1.26 or newer (https://go.dev/dl) with the libraries that "
    "livekit-sip needs (Debian, Ubuntu: `sudo apt-get install pkg-config libopus-dev "
    "libopusfile-dev libsoxr-dev`; macOS: `brew install pkg-config opus opusfile libsoxr`; "
    "`make run PHONE=1` then builds it in about 2 minutes); Docker.",
    go=GoProgram(
        name="livekit-sip",
        module="github.com/livekit/sip",
        package="./cmd/livekit-sip",
        version=PINNED_VERSION,
        version_variable="github.com/livekit/sip/version.Version",
        libraries={"opus": "libopus-dev", "opusfile": "libopusfile-dev", "soxr": "libsoxr-dev"},
    ),
    image_options=(
        *("--entrypoint", "livekit-sip"),
        *(f"--env={name}={value}" for name, value in SOUND_VARIABLES.items()),
    ),
)


def sip_finder(
    home: Path, configured: Path | None, environment: Mapping[str, str], say: Say
) -> ProgramFinder:
    """What looks for livekit-sip; the arguments are those of `ProgramFinder`."""
    return ProgramFinder(LIVEKIT_SIP, home, configured, environment, say)


def write_sip_config(
    home: Path,
    *,
    livekit_url: str,
    api_key: str,
    api_secret: SecretStr,
    redis: RedisAddress,
    port: int,
    listen: str,
    address: str,
    rtp_ports: str,
    first_sound_s: int,
    sound_gone_s: int,
) -> Path:
    """Write livekit-sip's configuration; it holds the secret, so only its owner may read it.

    Args:
        home: folder for the file.
        livekit_url: livekit-server, as a WebSocket URL.
        api_key: livekit-server's API key.
        api_secret: its secret.
        redis: what it shares with livekit-server.
        port: port of signalling, UDP and TCP.
        listen: IPv4 address that signalling listens on. The sockets of the sound listen on every
            interface, whatever this says.
        address: IPv4 address that callers are told, for signalling and sound.
        rtp_ports: UDP ports of the sound: `FIRST-LAST`.
        first_sound_s: a call that brings no sound at all is ended after this, seconds.
        sound_gone_s: a call whose sound has stopped is ended after this, seconds.
    """
    config = {
        "api_key": api_key,
        "api_secret": api_secret.get_secret_value(),
        "ws_url": livekit_url,
        "redis": redis.as_livekit_reads_it(),
        "sip_port": port,
        "listen_ip": listen,
        # Left out, it takes the first interface's address; asked to find the public one, it asks
        # public STUN servers.
        "nat_1_to_1_ip": address,
        "use_external_ip": False,
        "rtp_port": rtp_ports,
        "media_timeout_initial": f"{first_sound_s}s",
        "media_timeout": f"{sound_gone_s}s",
        "rtp_draining_idle_timeout": f"{DRAINING_S}s",
        # By default it refuses to dial above 90 % CPU: a busy minute of anything else on the
        # machine. Workers bound the number of calls.
        "max_cpu_utilization": 1,
        # Not `debug`: that writes the digits which an agent dials.
        "logging": {"level": "info", "json": False},
    }
    path = home / CONFIG_FILE
    head = "# Made by `parley run` at every start; changes here are lost.\n"
    write_private(path, head + yaml.safe_dump(config, sort_keys=False))
    return path
