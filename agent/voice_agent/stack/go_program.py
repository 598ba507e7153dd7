"""Builds a program from the Go module proxy, at a pinned version."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from voice_agent.stack.errors import StackError

BUILD_TIMEOUT_S = 1800.0
PROGRESS_INTERVAL_S = 10.0
TAIL_LINES = 3
LINE_MAX_BYTES = 65_536

Say = Callable[[str], None]


@dataclass(frozen=True)
class GoProgram:
    """A program in a Go module.

    `go install MODULE@VERSION` would be shorter, but asks for the list of versions, which a proxy
    may refuse to tell although it has the version itself.

    Attributes:
        name: the program's file name.
        module: path of the module that holds it.
        package: its package, from the module's folder: `./cmd/server`.
        version: version of the module, without `v`.
        version_variable: Go variable that is to hold the version; empty where it holds it already.
        libraries: C libraries that it is linked with: pkg-config's name → Debian's package.
    """

    name: str
    module: str
    package: str
    version: str
    version_variable: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)


class GoBuilder:
    """Builds programs with the Go of this machine.

    Args:
        go: the `go` program.
        environment: environment of the programs run here.
        say: tells the user what is going on.
    """

    def __init__(self, go: str, environment: Mapping[str, str], say: Say) -> None:
        self._go = go
        self._environment = {**environment, "GOFLAGS": "", "GOWORK": "off"}
        self._say = say

    async def build(self, program: GoProgram, target: Path) -> None:
        """Build a program in a folder of its own, then move it into place.

        Raises:
            StackError: something that it needs is missing, or the build failed.
        """
        if missing := await self.missing_packages(program):
            raise missing_libraries(program, missing)
        self._say(
            f"{program.name} is missing: building v{program.version} with {self._go}. "
            "This is done once and takes about 2 minutes."
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as folder:
            built = Path(folder) / program.name
            try:
                async with asyncio.timeout(BUILD_TIMEOUT_S):
                    source = await self._download(program, Path(folder))
                    await self._compile(program, source, built)
            except TimeoutError:
                raise StackError(f"the build did not end in {BUILD_TIMEOUT_S:g} s") from None
            built.replace(target)
        self._say(f"Built {target}.")

    async def missing_packages(self, program: GoProgram) -> list[str]:
        """The Debian packages that have to be installed before the program can be built."""
        if not program.libraries:
            return []
        missing = [] if self._which("cc", "gcc", "clang") else ["gcc"]
        if not self._which("pkg-config"):
            return [*missing, "pkg-config", *program.libraries.values()]
        for library, package in program.libraries.items():
            status, _, _ = await self._run("pkg-config", "--exists", library)
            if status != 0:
                missing.append(package)
        return missing

    async def _download(self, program: GoProgram, folder: Path) -> Path:
        """Fetch the module's source; return its folder, which is read-only."""
        wanted = f"{program.module}@v{program.version}"
        # Elsewhere it would look at a go.mod that happens to lie in our working folder.
        status, output, complaints = await self._run(
            self._go, "mod", "download", "-json", wanted, cwd=folder
        )
        try:
            found = json.loads(output)
        except ValueError:
            found = {}
        if status != 0 or "Dir" not in found:
            why = found.get("Error") or " / ".join(complaints.splitlines()[-TAIL_LINES:])
            raise StackError(f"the build failed: {why or f'status {status}'}")
        return Path(found["Dir"])

    async def _compile(self, program: GoProgram, source: Path, built: Path) -> None:
        variable = program.version_variable
        stamp = ("-ldflags", f"-X {variable}={program.version}") if variable else ()
        process = await asyncio.create_subprocess_exec(
            self._go, "build", "-v", "-buildvcs=false", *stamp, "-o", built, program.package,
            cwd=source,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LINE_MAX_BYTES,
            env=self._environment,
            start_new_session=True,
        )  # fmt: skip
        try:
            tail = await self._follow(program, process)
            status = await process.wait()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if status != 0:
            raise StackError(f"the build failed: {' / '.join(tail) or f'status {status}'}")

    async def _follow(self, program: GoProgram, process: asyncio.subprocess.Process) -> list[str]:
        """Tell how far the build is every now and then; return its last lines."""
        assert process.stdout is not None
        started = told = time.monotonic()
        tail: list[str] = []
        packages = 0
        async for raw in process.stdout:
            line = raw.decode("utf-8", "replace").strip()
            tail = [*tail[1 - TAIL_LINES :], line]
            packages += not line.startswith("go: ")
            now = time.monotonic()
            if now - told >= PROGRESS_INTERVAL_S:
                told = now
                doing = f"{packages} packages compiled" if packages else line
                self._say(f"  building {program.name}: {now - started:.0f} s, {doing}")
        return tail

    async def _run(self, *command: str, cwd: Path | None = None) -> tuple[int, str, str]:
        """Run a command to its end; return its status and what it wrote to its two outputs."""
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        try:
            output, complaints = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        status = process.returncode or 0
        return status, output.decode("utf-8", "replace"), complaints.decode("utf-8", "replace")

    def _which(self, *names: str) -> str | None:
        path = self._environment.get("PATH")
        return next((found for name in names if (found := shutil.which(name, path=path))), None)


def missing_libraries(program: GoProgram, packages: Sequence[str]) -> StackError:
    """The error for a machine that lacks what a build needs."""
    return StackError(
        f"{program.name} cannot be built here: {', '.join(packages)} missing",
        f"sudo apt-get install {' '.join(packages)}",
    )
