"""An error as an HTTP answer, the same on every route and in place of a WebSocket upgrade."""

from fastapi.responses import JSONResponse

from speech_server.errors import SpeechError, Unauthorized
from speech_server.protocol.rest import ErrorBody, ErrorDetail

_RETRY_AFTER_S = 1


def error_body(error: SpeechError) -> ErrorBody:
    """An error in OpenAI's shape."""
    kind = "server_error" if error.http_status >= 500 else "invalid_request_error"
    return ErrorBody(error=ErrorDetail(message=error.message, type=kind, code=error.code))


def error_response(error: SpeechError) -> JSONResponse:
    """The answer to a request, or to a WebSocket that is refused before it opens.

    Carries `Retry-After` where a retry can help, and `WWW-Authenticate` where a key is wanted.
    """
    headers: dict[str, str] = {}
    if error.retryable:
        headers["Retry-After"] = str(_RETRY_AFTER_S)
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(error_body(error).model_dump(), error.http_status, headers)
