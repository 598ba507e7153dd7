"""Which wheels a GPU machine is brought, and which of them it really lacks."""

import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path


def pinned(packages: Iterable[str]) -> list[str]:
    """Requirements in the versions installed here; what is not installed here is left out."""
    found = []
    for package in packages:
        try:
            found.append(f"{package}=={metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def missing(folder: Path) -> list[Path]:
    """The wheels of a folder whose package this Python does not have, in any version."""
    return [wheel for wheel in sorted(folder.glob("*.whl")) if not _installed(wheel)]


def _installed(wheel: Path) -> bool:
    name, _, _ = wheel.name.partition("-")
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def main() -> None:
    """`python -m bench.gpu.wheels FOLDER`: print the wheels that are missing here."""
    for wheel in missing(Path(sys.argv[1])):
        print(wheel)


if __name__ == "__main__":
    main()
