"""Prints the folders in which CTranslate2 finds cuBLAS and cuDNN, as a library path.

CTranslate2 4 loads `libcublas.so.12` and `libcudnn.so.9` by name at its first use of the GPU. An
image whose torch was built for CUDA 13 has cuBLAS 13 only; the few entry points that CTranslate2
calls are there too, so that a link under the older name is offered, and said on standard error.

    python3 -m bench.gpu.stt.cuda_libraries FOLDER_FOR_LINKS
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_WANTED: Final = {
    "libcublas.so.12": ("libcublas.so.13",),
    "libcublasLt.so.12": ("libcublasLt.so.13",),
    "libcudnn.so.9": (),
}
"""Library → what may stand in for it."""


def library_path(links: Path, searched: list[Path]) -> str:
    """Folders with the wanted libraries, joined by colons; links are made where needed.

    Args:
        links: folder for links; made where needed.
        searched: folders that may hold the libraries.
    """
    folders: list[Path] = []
    for wanted, substitutes in _WANTED.items():
        for name in (wanted, *substitutes):
            found = next((folder / name for folder in searched if (folder / name).exists()), None)
            if found is None:
                continue
            if name != wanted:
                links.mkdir(parents=True, exist_ok=True)
                (links / wanted).unlink(missing_ok=True)
                (links / wanted).symlink_to(found)
                folders.append(links)
                print(f"{wanted}: not here; {found} stands in for it", file=sys.stderr)
            folders.append(found.parent)
            break
        else:
            print(f"{wanted}: not found beside torch; the system's is used", file=sys.stderr)
    return ":".join(map(str, dict.fromkeys(folders)))


def _searched() -> Iterator[Path]:
    """Where NVIDIA's wheels and CUDA's installer put libraries."""
    for entry in map(Path, sys.path):
        yield from sorted(entry.glob("nvidia/*/lib"))
    yield from sorted(Path("/usr/local").glob("cuda*/lib64"))


if __name__ == "__main__":
    print(library_path(Path(sys.argv[1]), list(_searched())))
