#!/usr/bin/env python3
"""Prints a link with which one may call for some hours; needs the standard library alone.

    ./invite.py [HOURS]

It is the page with a pass in its fragment, which browsers send to nobody: a JWT (HS256) signed with
PARLEY_TOKEN_AUTH_SECRET of the `.env` beside this file. A site of your own makes them the same way.
"""

import base64
import hashlib
import hmac
import json
import sys
import time
from pathlib import Path

DEFAULT_HOURS = 12
MAX_HOURS = 24 * 31
"""Longest life of a pass: it cannot be taken back, short of a new secret."""
ENV_FILE = Path(__file__).parent / ".env"


def read_settings(file: Path) -> dict[str, str]:
    """The `NAME=value` lines of an environment file."""
    lines = (line.partition("=") for line in file.read_text().splitlines())
    return {name.strip(): value.strip() for name, _, value in lines if not name.startswith("#")}


def sign(secret: str, expires_at: int) -> str:
    """A JWT that says when it ends and nothing else.

    Args:
        secret: the token server's `PARLEY_TOKEN_AUTH_SECRET`.
        expires_at: Unix time, seconds.
    """
    parts = ({"alg": "HS256", "typ": "JWT"}, {"exp": expires_at})
    claims = ".".join(_base64url(json.dumps(part).encode()) for part in parts)
    signature = hmac.new(secret.encode(), claims.encode(), hashlib.sha256).digest()
    return f"{claims}.{_base64url(signature)}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def main(arguments: list[str]) -> str:
    """The link.

    Raises:
        SystemExit: wrong usage, or a setting is missing; the message says what to do.
    """
    hours = int(arguments[0]) if len(arguments) == 1 and arguments[0].isdigit() else DEFAULT_HOURS
    if (arguments and [str(hours)] != arguments) or not 1 <= hours <= MAX_HOURS:
        sys.exit(f"usage: ./invite.py [HOURS], 1 to {MAX_HOURS}, default {DEFAULT_HOURS}")
    if not ENV_FILE.is_file():
        sys.exit(f"invite.py: there is no {ENV_FILE}; write it with ./new-env.sh")
    settings = read_settings(ENV_FILE)
    for name in ("PARLEY_HOST", "PARLEY_TOKEN_AUTH_SECRET"):
        if not settings.get(name):
            sys.exit(f"invite.py: {ENV_FILE} does not set {name}; ./new-env.sh writes it")
    token = sign(settings["PARLEY_TOKEN_AUTH_SECRET"], int(time.time()) + hours * 3600)
    return f"https://{settings['PARLEY_HOST']}/#token={token}"


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]) + "\n")
