"""Finds a program that is not Python: by a setting, on `PATH`, built here, or in Docker."""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from voice_agent.stack.errors import StackError
from voice_agent.stack.go_program import GoBuilder, GoProgram, Say

VERSION_TIMEOUT_S = 10.0

_VERSION = re.compile(r"(?:version |v=)((\d+)\.(\d+)\.\d+)")
"""What `--version` writes: `livekit-server version 1.13.5`, `Redis server v=7.0.15`."""


@dataclass(frozen=True)
class Wanted:
    """A program that the stack needs, and the ways to it.

    Attributes:
        name: what the user knows it by.
        setting: environment variable that names the program to use.
        file_names: what it may be called on the `PATH`, the first found wins.
        pinned: version to install where there is none, `1.13.5`.
        oldest: oldest version that will do, (major, minor).
        newest_major: newest major version that will do.
        image: Docker image of the pinned version.
        install: what to install, for a machine without it.
        go: how it is built; None where it is not.
        image_options: further options of `docker run`.
        image_command: what to run in the image, where its own entry point will not do.
    """

    name: str
    setting: str
    file_names: Sequence[str]
    pinned: str
    oldest: tuple[int, int]
    newest_major: int
    image: str
    install: str
    go: GoProgram | None = None
    image_options: Sequence[str] = ()
    image_command: Sequence[str] = ()


@dataclass(frozen=True)
class FoundProgram:
    """A program that can be started.

    Attributes:
        command: program and arguments that come before its own.
        version: its version, `1.13.5`.
        origin: where it was found, for the user.
        cleanup: command that removes it after it was killed; empty for a plain program.
    """

    command: tuple[str, ...]
    version: str
    origin: str
    cleanup: tuple[str, ...] = ()


class ProgramFinder:
    """Looks for a program: the setting, `PATH`, the home folder; then builds it, then Docker.

    Args:
        wanted: the program.
        home: home folder; a built program goes to its `bin/`.
        configured: program named by the setting; it is then the only one tried.
        environment: environment of the programs run here.
        say: tells the user what is going on.
    """

    def __init__(
        self,
        wanted: Wanted,
        home: Path,
        configured: Path | None,
        environment: Mapping[str, str],
        say: Say,
    ) -> None:
        self.wanted = wanted
        self._home = home
        self._configured = configured
        self._environment = environment
        self._say = say

    async def find(self) -> FoundProgram | None:
        """The program on this machine; None when there is none yet.

        Raises:
            StackError: the setting names one that cannot be used.
        """
        if self._configured is not None:
            return await self._check(self._configured, self.wanted.setting)
        places = [(self._which(name), "PATH") for name in self.wanted.file_names]
        built = self.built_path if self.built_path.is_file() else None
        for path, origin in (*places, (built, "built for this machine")):
            if path is None:
                continue
            try:
                return await self._check(Path(path), origin)
            except StackError as error:
                self._say(f"{error.message}; looking further.")
        return None

    async def find_or_provide(self, config: Path, data: Path | None = None) -> FoundProgram:
        """Find the program, or build it, or fall back to its Docker image.

        Args:
            config: configuration file, to be seen inside a container.
            data: folder that the program writes to, to be seen inside a container.

        Raises:
            StackError: none of it is possible; the message says what to install.
        """
        if found := await self.find():
            return found
        reasons = []
        if self.wanted.go and (go := self._which("go")):
            try:
                builder = GoBuilder(go, self._environment, self._say)
                await builder.build(self.wanted.go, self.built_path)
                return await self._check(self.built_path, "built for this machine")
            except StackError as error:
                self._say(str(error))
                reasons.append(str(error) if error.fix else error.message)
        if docker := self._which("docker"):
            return self._container(docker, config, data)
        raise self.missing(*reasons)

    def way_to_provide(self) -> str | None:
        """How `find_or_provide` would get it, for the user; None when it could not."""
        if self.wanted.go and self._which("go"):
            return f"`parley run` builds v{self.wanted.pinned} with Go in about 2 minutes"
        if self._which("docker"):
            return f"`parley run` uses the Docker image {self.wanted.image}"
        return None

    def missing(self, *reasons: str) -> StackError:
        """The error for a machine that neither has the program nor can get it."""
        name = self.wanted.name
        built = "Go is not installed, so it cannot be built" if self.wanted.go else ""
        why = "; ".join(reasons) or built or "it is not on the PATH"
        return StackError(
            f"{name} is missing: {why}; Docker is not installed either", self.wanted.install
        )

    @property
    def built_path(self) -> Path:
        """Where a built one lies."""
        return self._home / "bin" / self.wanted.name

    def _which(self, program: str) -> str | None:
        return shutil.which(program, path=self._environment.get("PATH"))

    async def _check(self, path: Path, origin: str) -> FoundProgram:
        try:
            process = await asyncio.create_subprocess_exec(
                path, "--version",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(self._environment),
            )  # fmt: skip
        except OSError as error:
            raise self._unusable(path, f"cannot be run: {error.strerror}") from error
        try:
            output, _ = await asyncio.wait_for(process.communicate(), VERSION_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise self._unusable(path, "does not answer --version") from None
        found = _VERSION.search(output.decode("utf-8", "replace"))
        if process.returncode != 0 or found is None:
            raise self._unusable(path, f"does not tell its version; is it {self.wanted.name}?")
        version, major, minor = found[1], int(found[2]), int(found[3])
        oldest, newest = self.wanted.oldest, self.wanted.newest_major
        if (major, minor) < oldest or major > newest:
            needed = f"{oldest[0]}.{oldest[1]} or newer, below {newest + 1}"
            raise self._unusable(path, f"is version {version}; needed is {needed}")
        return FoundProgram((str(path),), version, f"{origin}: {path}")

    def _container(self, docker: str, config: Path, data: Path | None) -> FoundProgram:
        wanted = self.wanted
        name = f"parley-{wanted.name}-{os.getpid()}"
        mounts = ["--volume", f"{config}:{config}:ro"]
        if data is not None:
            mounts += ["--volume", f"{data}:{data}"]
        command = (
            docker, "run", "--rm", "--init", "--name", name, "--network", "host",
            *mounts, *wanted.image_options, wanted.image, *wanted.image_command,
        )  # fmt: skip
        cleanup = (docker, "rm", "--force", name)
        return FoundProgram(command, wanted.pinned, f"Docker image {wanted.image}", cleanup)

    def _unusable(self, path: Path, why: str) -> StackError:
        wanted = self.wanted
        return StackError(
            f"{path} {why}",
            f"Point {wanted.setting} at {wanted.name} {wanted.pinned}, or unset it.",
        )
