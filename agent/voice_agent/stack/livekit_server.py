"""Finds livekit-server, builds it where it is missing, and writes its configuration."""

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import SecretStr

from voice_agent.stack.errors import StackError
from voice_agent.stack.ports import LOOPBACK

PINNED_VERSION = "1.13.5"
"""Newest release whose module version `go install` accepts: later ones carry `replace` lines."""
MODULE = "github.com/livekit/livekit-server/cmd/server"
IMAGE = f"livekit/livekit-server:v{PINNED_VERSION}"
OLDEST = (1, 9)
NEWEST_MAJOR = 1
BUILD_TIMEOUT_S = 1800.0
PROGRESS_INTERVAL_S = 10.0
VERSION_TIMEOUT_S = 10.0
CONFIG_FILE = "livekit.yaml"

Say = Callable[[str], None]


@dataclass(frozen=True)
class LiveKitServer:
    """A livekit-server that can be started.

    Attributes:
        command: program and arguments that come before `--config FILE`.
        version: its version, `1.13.5`.
        origin: where it was found, for the user.
        cleanup: command that removes it after it was killed; empty for a plain program.
    """

    command: tuple[str, ...]
    version: str
    origin: str
    cleanup: tuple[str, ...] = ()


class LiveKitServerFinder:
    """Looks for livekit-server: the setting, `PATH`, the home folder; then builds it, then Docker.

    Args:
        home: home folder; a built program goes to its `bin/`.
        configured: program named by the setting; it is then the only one tried.
        environment: environment of the programs run here.
        say: tells the user what is going on.
    """

    def __init__(
        self, home: Path, configured: Path | None, environment: Mapping[str, str], say: Say
    ) -> None:
        self._home = home
        self._configured = configured
        self._environment = environment
        self._say = say

    async def find(self) -> LiveKitServer | None:
        """The livekit-server of this machine; None when there is none yet.

        Raises:
            StackError: the setting names one that cannot be used.
        """
        if self._configured is not None:
            return await self._check(self._configured, "PARLEY_LIVEKIT_SERVER_BIN")
        for path, origin in (
            (self._which("livekit-server"), "PATH"),
            (self.built_path if self.built_path.is_file() else None, "built for this machine"),
        ):
            if path is None:
                continue
            try:
                return await self._check(Path(path), origin)
            except StackError as error:
                self._say(f"{error.message}; looking further.")
        return None

    async def find_or_provide(self, config: Path) -> LiveKitServer:
        """Find livekit-server, or build it, or fall back to its Docker image.

        Args:
            config: configuration file, to be seen inside a container.

        Raises:
            StackError: none of it is possible; the message says what to install.
        """
        if found := await self.find():
            return found
        reasons = []
        if go := self._which("go"):
            try:
                await self._build(go)
                return await self._check(self.built_path, "built for this machine")
            except StackError as error:
                self._say(str(error))
                reasons.append(error.message)
        if docker := self._which("docker"):
            return self._container(docker, config)
        raise self.missing(*reasons)

    def way_to_provide(self) -> str | None:
        """How `find_or_provide` would get it, for the user; None when it could not."""
        if self._which("go"):
            return f"`parley run` builds v{PINNED_VERSION} with Go in about 2 minutes"
        if self._which("docker"):
            return f"`parley run` uses the Docker image {IMAGE}"
        return None

    def missing(self, *reasons: str) -> StackError:
        """The error for a machine that neither has livekit-server nor can get it."""
        why = "; ".join(reasons) or "Go is not installed, so it cannot be built"
        return StackError(
            f"livekit-server is missing: {why}; Docker is not installed either",
            "Install one of: Go 1.26 or newer (https://go.dev/dl; `make run` then builds it in "
            f"about 2 minutes); livekit-server {PINNED_VERSION} (macOS: `brew install livekit`; "
            "others: https://github.com/livekit/livekit/releases); Docker.",
        )

    @property
    def built_path(self) -> Path:
        """Where a built livekit-server lies."""
        return self._home / "bin" / "livekit-server"

    def _which(self, program: str) -> str | None:
        return shutil.which(program, path=self._environment.get("PATH"))

    async def _check(self, path: Path, origin: str) -> LiveKitServer:
        try:
            process = await asyncio.create_subprocess_exec(
                path, "--version",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(self._environment),
            )  # fmt: skip
        except OSError as error:
            raise _unusable(path, f"cannot be run: {error.strerror}") from error
        try:
            output, _ = await asyncio.wait_for(process.communicate(), VERSION_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise _unusable(path, "does not answer --version") from None
        match = re.search(rb"version (\d+)\.(\d+)\.(\d+)", output)
        if process.returncode != 0 or match is None:
            raise _unusable(path, "does not tell its version; is it livekit-server?")
        version = match.group(0).decode().removeprefix("version ")
        major, minor = int(match.group(1)), int(match.group(2))
        if (major, minor) < OLDEST or major > NEWEST_MAJOR:
            raise _unusable(path, f"is version {version}; needed is 1.9 or newer, below 2")
        return LiveKitServer((str(path),), version, f"{origin}: {path}")

    async def _build(self, go: str) -> None:
        """`go install` the pinned version into a folder of its own, then move it into place."""
        self._say(
            f"livekit-server is missing: building v{PINNED_VERSION} with {go}. "
            "This is done once and takes about 2 minutes."
        )
        self.built_path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.built_path.parent, prefix=".build-") as folder:
            process = await asyncio.create_subprocess_exec(
                go, "install", "-v", f"{MODULE}@v{PINNED_VERSION}",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**self._environment, "GOBIN": folder, "GOFLAGS": ""},
                start_new_session=True,
            )  # fmt: skip
            try:
                async with asyncio.timeout(BUILD_TIMEOUT_S):
                    tail = await self._follow(process)
                    status = await process.wait()
            except TimeoutError:
                raise StackError(f"the build did not end in {BUILD_TIMEOUT_S:g} s") from None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, 9)
                    await process.wait()
            built = Path(folder) / "server"
            if status != 0 or not built.is_file():
                raise StackError(f"the build failed: {' / '.join(tail) or f'status {status}'}")
            built.replace(self.built_path)
        self._say(f"Built {self.built_path}.")

    async def _follow(self, process: asyncio.subprocess.Process) -> list[str]:
        """Tell how far the build is every now and then; return its last lines."""
        assert process.stdout is not None
        started = told = time.monotonic()
        tail: list[str] = []
        packages = 0
        async for raw in process.stdout:
            line = raw.decode("utf-8", "replace").strip()
            tail = [*tail[-2:], line]
            packages += not line.startswith("go: ")
            now = time.monotonic()
            if now - told >= PROGRESS_INTERVAL_S:
                told = now
                doing = f"{packages} packages compiled" if packages else line
                self._say(f"  building livekit-server: {now - started:.0f} s, {doing}")
        return tail

    def _container(self, docker: str, config: Path) -> LiveKitServer:
        name = f"parley-livekit-{os.getpid()}"
        command = (
            docker, "run", "--rm", "--init", "--name", name, "--network", "host",
            "--volume", f"{config}:{config}:ro", IMAGE,
        )  # fmt: skip
        cleanup = (docker, "rm", "--force", name)
        return LiveKitServer(command, PINNED_VERSION, f"Docker image {IMAGE}", cleanup)


def write_config(
    home: Path, *, port: int, udp_port: int, api_key: str, api_secret: SecretStr
) -> Path:
    """Write livekit-server's configuration: loopback only, nothing that calls out, all bounded.

    The file holds the secret, so only its owner may read it.
    """
    config = {
        "port": port,
        "bind_addresses": [LOOPBACK],
        "keys": {api_key: api_secret.get_secret_value()},
        "logging": {"level": "info", "json": False},
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
    draft = home / f".{CONFIG_FILE}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("# Made by `parley run` at every start; changes here are lost.\n")
        yaml.safe_dump(config, file, sort_keys=False)
    draft.replace(path)
    return path


def _loopback_interfaces() -> list[str]:
    # Linux calls it lo, macOS and the BSDs lo0; a name that does not exist is ignored.
    return ["lo", "lo0"]


def _unusable(path: Path, why: str) -> StackError:
    return StackError(
        f"{path} {why}",
        f"Point PARLEY_LIVEKIT_SERVER_BIN at livekit-server {PINNED_VERSION}, or unset it.",
    )
