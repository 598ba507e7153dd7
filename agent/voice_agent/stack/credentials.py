"""This machine's LiveKit key and secret: made once, kept in a file only its owner can read."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from pydantic import SecretStr

from voice_agent.settings import DEV_ENV_FILE
from voice_agent.stack.errors import StackError
from voice_agent.stack.settings import RunSettings

SECRET_MIN_CHARS = 32
"""Shortest accepted secret: HS256 wants a key as long as its digest, 32 bytes. Source: RFC 7518."""


def ensure_credentials(home: Path) -> Path:
    """Create the file with a fresh key and secret unless it is there; return its path.

    The file is written beside its place and then linked to it, so that a reader never sees half
    of it and the first of two writers wins.
    """
    path = home / DEV_ENV_FILE
    home.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return path
    draft = home / f".{DEV_ENV_FILE}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(
                "# Made by `parley run` for this machine. Delete it to get new ones.\n"
                f"LIVEKIT_API_KEY=parley{secrets.token_hex(6)}\n"
                f"LIVEKIT_API_SECRET={secrets.token_urlsafe(48)}\n"
            )
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    return path


def readable_by_others(path: Path) -> bool:
    """Whether somebody but the owner may read the file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def credentials_of(settings: RunSettings) -> tuple[str, SecretStr]:
    """The API key and secret that the settings resolve to.

    Raises:
        StackError: one of the two is missing, or the secret is too short.
    """
    key, secret = settings.livekit_api_key, settings.livekit_api_secret
    if not key or not secret.get_secret_value():
        raise StackError(
            "LIVEKIT_API_KEY and LIVEKIT_API_SECRET are not both set",
            f"Set both; or unset both and delete {DEV_ENV_FILE} in the home folder.",
        )
    if len(secret.get_secret_value()) < SECRET_MIN_CHARS:
        raise StackError(
            f"LIVEKIT_API_SECRET is shorter than {SECRET_MIN_CHARS} characters",
            "Unset it (then one is made for this machine), or set a longer one.",
        )
    return key, secret
