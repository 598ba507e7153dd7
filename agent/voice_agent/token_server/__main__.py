"""`python -m voice_agent.token_server`: serve with the settings of the environment."""

import logging
import sys

import uvicorn
from pydantic import ValidationError

from voice_agent.settings import TokenServerSettings, setting_faults
from voice_agent.token_server.app import create_app
from voice_agent.token_server.errors import ConfigurationError


def main() -> None:
    """Serve until SIGINT or SIGTERM; a setting that will not do ends in one clear line."""
    try:
        settings = TokenServerSettings.load()
        app = create_app(settings)
    except ConfigurationError as error:
        sys.exit(f"token server: {error}")
    except ValidationError as error:
        faults = "; ".join(f"{name}: {why}" for name, why in setting_faults(error))
        sys.exit(f"token server: {faults}")
    logging.basicConfig(
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    uvicorn.run(
        app,
        host=settings.web_host,
        port=settings.web_port,
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(settings.web_trusted_proxies),
        limit_concurrency=256,
        timeout_graceful_shutdown=5,
    )


if __name__ == "__main__":
    main()
