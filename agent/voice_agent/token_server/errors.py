"""Why a request was refused. One tree, answered as JSON by `app.py` and nowhere else.

TokenServerError
├── BadRequest        400  malformed, or asks for something that a caller may not set
├── Unauthorized      401  no valid caller's JWT where one is required
├── Forbidden         403  from a site, or to a host name, that is not ours
├── TooLarge          413
└── TooManyRequests   429

ConfigurationError    the process refuses to start; the message names the fix
"""

from pydantic import BaseModel


class ConfigurationError(Exception):
    """The settings do not make a safe server."""


class TokenServerError(Exception):
    """A refused request; the message is shown to the caller."""

    http_status: int = 400
    code: str = "bad_request"

    def __init__(self, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


class BadRequest(TokenServerError):
    """Malformed, or asks for something that a caller may not set."""


class Unauthorized(TokenServerError):
    """No valid caller's JWT where one is required."""

    http_status = 401
    code = "unauthorized"


class Forbidden(TokenServerError):
    """From a site, or to a host name, that is not ours."""

    http_status = 403
    code = "forbidden"


class TooLarge(TokenServerError):
    """The body is over the limit."""

    http_status = 413
    code = "too_large"


class TooManyRequests(TokenServerError):
    """This address has had its share."""

    http_status = 429
    code = "too_many_requests"


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str
    """Stable word for programs."""
    message: str
    """Sentence for people."""


class ErrorBody(BaseModel):
    """Body of every refusal."""

    error: ErrorDetail
