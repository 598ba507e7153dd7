"""A machine whose `PATH` holds only what a test puts there."""

from pathlib import Path

SHELL_TOOLS = ("mkdir", "cp", "chmod", "cat", "sh", "[")


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def says_version(path: Path, version: str = "1.13.5") -> Path:
    return program(path, f"echo livekit-server version {version}")


class EmptyMachine:
    """It has a shell and what that needs; neither Go nor Docker."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.said: list[str] = []
        self.environment = {"PATH": str(self.bin)}
        self._source = folder / "source"
        self._calls = folder / "go-calls"
        for tool in SHELL_TOOLS:
            (self.bin / tool).symlink_to(f"/usr/bin/{tool}")

    def has_go(self, version: str) -> None:
        """Install a Go whose builds give a program that says this version."""
        self._source.mkdir()
        program(
            self.bin / "go",
            f'echo "$@" >> {self._calls}\n'
            f'if [ "$1" = mod ]; then echo \'{{"Dir": "{self._source}"}}\'; exit; fi\n'
            'while [ "$1" != -o ]; do shift; done\n'
            f'printf "#!/bin/sh\\necho {version}\\n" > "$2"\n'
            'chmod +x "$2"',
        )

    def go_calls(self) -> list[str]:
        """The arguments of each time that Go was run."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []
