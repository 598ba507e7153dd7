"""Writes files that hold secrets: whole or not at all, and readable by their owner only."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file with mode 0600; a reader sees the old one or the new one, never half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)
