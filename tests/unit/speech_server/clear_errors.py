"""What every error that a client is told must be."""

from speech_server.error_response import error_response
from speech_server.errors import SpeechError


def check_clear(error: SpeechError) -> None:
    """It says something, and can be sent."""
    assert error.message
    assert error_response(error).body
