"""`python -m language_server`: serve with the settings of the environment.

With `--explain` it only says what it would do with a model in vLLM: memory, limits, command line.
"""

import argparse
import logging
import sys

import uvicorn
from pydantic import ValidationError

from language_server.settings import LanguageServerSettings
from language_server.vllm.errors import ModelError

WRONG_USAGE = 2
"""Exit status for a setting that will not do."""


def main() -> int:
    """Serve until SIGINT or SIGTERM; settings that will not do end in one clear line each."""
    parser = argparse.ArgumentParser(prog="python -m language_server", description=__doc__)
    parser.add_argument(
        "--explain", action="store_true", help="show memory, limits and vLLM's command, then end"
    )
    options = parser.parse_args()
    try:
        settings = LanguageServerSettings()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            variable = f"PARLEY_{fault['loc'][0]}".upper()
            sys.stderr.write(f"language server: {variable}: {fault['msg']}\n")
        return WRONG_USAGE
    logging.basicConfig(
        level=settings.language_log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    try:
        if options.explain:
            from language_server.vllm.explain import explanation

            sys.stdout.write(explanation(settings))
            return 0
        if settings.language_engine == "vllm":
            from language_server.vllm.serve import serve

            return serve(settings)
    except ModelError as error:
        sys.stderr.write(f"language server: {error}\n")
        return WRONG_USAGE
    return _serve_responder(settings)


def _serve_responder(settings: LanguageServerSettings) -> int:
    # Its libraries are not in vLLM's environment.
    from language_server.app import create_app

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
