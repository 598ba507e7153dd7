"""The language server's errors, each with its HTTP status and OpenAI's words for it.

RequestError
├── BadRequest         400  invalid_value             the request cannot be read or served
├── UnknownParameter   400  unknown_parameter         a field that this server does not know
├── ToolChoiceRefused  400  tool_choice_unsatisfiable a demanded call lacks its arguments
├── Unauthorized       401  invalid_api_key           no key, or the wrong one
├── ModelNotFound      404  model_not_found           another model was asked for
├── BodyTimeout        408  request_timeout           the body did not arrive in time
├── TooLarge           413  payload_too_large         more bytes or messages than allowed
├── Overloaded         429  overloaded                refused at admission; retry
├── ModelFailed        502  model_failed              the model's server could not answer this
├── Unavailable        503  unavailable               the model is not loaded, or died; retry
└── DeadlineExceeded   504  deadline_exceeded         the answer took too long; retry
"""

from typing import Any, ClassVar

from fastapi.responses import JSONResponse

from language_server.protocol import ErrorBody, ErrorDetail


class RequestError(Exception):
    """Base of every error that a client is told about. The message never quotes a caller."""

    code: ClassVar[str] = "request_error"
    http_status: ClassVar[int] = 400
    retryable: ClassVar[bool] = False
    kind: ClassVar[str] = "invalid_request_error"
    """OpenAI's word for whose fault it is."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param

    def response(self) -> JSONResponse:
        """The error in OpenAI's shape."""
        headers = {"Retry-After": "1"} if self.retryable else None
        return JSONResponse(self.body(), self.http_status, headers)

    def body(self) -> dict[str, Any]:
        """The same without its status: for a stream that has begun."""
        detail = ErrorDetail(message=self.message, type=self.kind, code=self.code, param=self.param)
        return ErrorBody(error=detail).model_dump()


class BadRequest(RequestError):
    """The request cannot be read, or asks for what cannot be."""

    code = "invalid_value"


class UnknownParameter(RequestError):
    """A top-level field that this server neither uses nor knowingly ignores."""

    code = "unknown_parameter"


class ToolChoiceRefused(RequestError):
    """A call is demanded for which the conversation holds no arguments."""

    code = "tool_choice_unsatisfiable"


class Unauthorized(RequestError):
    """An API key is required and was missing or wrong."""

    code = "invalid_api_key"
    http_status = 401


class ModelNotFound(RequestError):
    """Another model than the script was asked for."""

    code = "model_not_found"
    http_status = 404


class BodyTimeout(RequestError):
    """The request body did not arrive in the time allowed."""

    code = "request_timeout"
    http_status = 408


class TooLarge(RequestError):
    """More bytes or messages than the server accepts."""

    code = "payload_too_large"
    http_status = 413


class Overloaded(RequestError):
    """Refused because as many requests as allowed are being answered."""

    code = "overloaded"
    http_status = 429
    retryable = True
    kind = "rate_limit_error"


class ModelFailed(RequestError):
    """The model's server answered with a fault of its own."""

    code = "model_failed"
    http_status = 502
    retryable = True
    kind = "server_error"


class Unavailable(RequestError):
    """No copy of the model can answer: it is being loaded, or it died."""

    code = "unavailable"
    http_status = 503
    retryable = True
    kind = "server_error"


class DeadlineExceeded(RequestError):
    """The whole answer was not there in the time allowed."""

    code = "deadline_exceeded"
    http_status = 504
    retryable = True
    kind = "server_error"
