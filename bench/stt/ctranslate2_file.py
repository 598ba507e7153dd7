"""Reads and writes `model.bin` of CTranslate2: named arrays, so that a model can be changed without
the framework that trained it.

Source of the layout: OpenNMT/CTranslate2, python/ctranslate2/specs/model_spec.py, binary version 6.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

_BINARY_VERSION: Final = 6
_DTYPES: Final = ("float32", "int8", "int16", "int32", "float16")
"""By CTranslate2's number of the type."""
_MAX_RANK: Final = 8

Weights = npt.NDArray[Any]


class UnreadableModel(ValueError):
    """The file is not a `model.bin` that this version can read."""


@dataclass(frozen=True)
class ModelFile:
    """The content of one `model.bin`."""

    spec: str
    """Name of the architecture, for example `WhisperSpec`."""
    revision: int
    variables: Mapping[str, Weights]
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Name → name of the variable that it stands for."""

    def __getitem__(self, name: str) -> Weights:
        """A variable, an alias followed."""
        return self.variables[self.aliases.get(name, name)]

    def __contains__(self, name: str) -> bool:
        return self.aliases.get(name, name) in self.variables


def read_model(path: Path) -> ModelFile:
    """Read a `model.bin`.

    Raises:
        UnreadableModel: another binary version, or a damaged file.
        OSError: there is no such file.
    """
    with path.open("rb") as file:
        (version,) = _unpack(file, "I")
        if version != _BINARY_VERSION:
            raise UnreadableModel(f"{path}: binary version {version}, not {_BINARY_VERSION}")
        spec = _read_text(file)
        revision, count = _unpack(file, "II")
        variables = dict(_read_variable(file) for _ in range(count))
        (count,) = _unpack(file, "I")
        aliases = {_read_text(file): _read_text(file) for _ in range(count)}
    return ModelFile(spec, revision, variables, aliases)


def write_model(path: Path, model: ModelFile) -> None:
    """Write a `model.bin`."""
    with path.open("wb") as file:
        file.write(struct.pack("=I", _BINARY_VERSION))
        _write_text(file, model.spec)
        file.write(struct.pack("=II", model.revision, len(model.variables)))
        for name, value in sorted(model.variables.items()):
            _write_text(file, name)
            file.write(struct.pack(f"=B{value.ndim}I", value.ndim, *value.shape))
            file.write(struct.pack("=BI", _DTYPES.index(value.dtype.name), value.nbytes))
            file.write(np.ascontiguousarray(value).data if value.ndim else value.tobytes())
        file.write(struct.pack("=I", len(model.aliases)))
        for alias, name in sorted(model.aliases.items()):
            _write_text(file, alias)
            _write_text(file, name)


def _read_variable(file: BinaryIO) -> tuple[str, Weights]:
    name = _read_text(file)
    (rank,) = _unpack(file, "B")
    if rank > _MAX_RANK:
        raise UnreadableModel(f"{name}: {rank} dimensions")
    shape = _unpack(file, f"{rank}I")
    kind, size = _unpack(file, "BI")
    if kind >= len(_DTYPES):
        raise UnreadableModel(f"{name}: unknown type {kind}")
    dtype = np.dtype(_DTYPES[kind])
    if size != dtype.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise UnreadableModel(f"{name}: {size} bytes do not make {shape} of {dtype}")
    return name, np.frombuffer(_read(file, size), dtype).reshape(shape)


def _read_text(file: BinaryIO) -> str:
    (length,) = _unpack(file, "H")
    return _read(file, length)[:-1].decode()


def _write_text(file: BinaryIO, text: str) -> None:
    encoded = text.encode()
    file.write(struct.pack("=H", len(encoded) + 1) + encoded + b"\0")


def _unpack(file: BinaryIO, layout: str) -> tuple[int, ...]:
    return struct.unpack(f"={layout}", _read(file, struct.calcsize(f"={layout}")))


def _read(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise UnreadableModel(f"{file.name}: ends in the middle")
    return content
