"""`python -m language_server`: serve the responder with the settings of the environment."""

import logging
import sys

import uvicorn
from pydantic import ValidationError

from language_server.app import create_app
from language_server.settings import LanguageServerSettings

WRONG_USAGE = 2
"""Exit status for a setting that will not do."""


def main() -> int:
    """Serve until SIGINT or SIGTERM; settings that will not do end in one clear line each."""
    try:
        settings = LanguageServerSettings()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            variable = f"PARLEY_{fault['loc'][0]}".upper()
            sys.stderr.write(f"responder: {variable}: {fault['msg']}\n")
        return WRONG_USAGE
    logging.basicConfig(
        level=settings.language_log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    uvicorn.run(
        create_app(settings),
        host=settings.language_host,
        port=settings.language_port,
        log_level=settings.language_log_level,
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
