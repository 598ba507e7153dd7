"""`python -m language_server`: serve the responder with the settings of the environment."""

import logging

import uvicorn

from language_server.app import create_app
from language_server.settings import LanguageServerSettings


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    settings = LanguageServerSettings()
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


if __name__ == "__main__":
    main()
