"""`python -m speech_server`: serve with the settings of the environment."""

import logging
import sys

import uvicorn
from pydantic import ValidationError

from speech_server.app import create_app
from speech_server.memory import return_freed_memory
from speech_server.settings import ConfigurationError, SpeechServerSettings

WS_MAX_BYTES = 1_048_576
"""Largest WebSocket message. 1 MiB holds over 30 s of 16 kHz linear16."""
WRONG_USAGE = 2
"""Exit status for a setting that will not do."""


def main() -> int:
    """Serve until SIGINT or SIGTERM; settings that will not do end in one clear line each."""
    try:
        settings = SpeechServerSettings()
        if settings.stt_engine == "moonshine":
            # Before any thread has a pool of its own. Whisper would pay for it with page faults.
            return_freed_memory()
        app = create_app(settings)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            variable = f"PARLEY_{fault['loc'][0]}".upper()
            sys.stderr.write(f"speech server: {variable}: {fault['msg']}\n")
        return WRONG_USAGE
    except ConfigurationError as error:
        sys.stderr.write(f"speech server: {error}\n")
        return WRONG_USAGE
    logging.basicConfig(
        level=settings.speech_log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    uvicorn.run(
        app,
        host=settings.speech_host,
        port=settings.speech_port,
        log_level=settings.speech_log_level,
        access_log=False,
        ws_max_size=WS_MAX_BYTES,
        # Audio hardly shrinks, and a compressor per connection costs memory and time.
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=10,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
