"""The speech server's errors, each with its wire code and whether a retry can help.

SpeechError
├── BadRequest        400  bad_request        no   the caller's message is wrong
├── Unauthorized      401  unauthorized       no   no key, or the wrong one
├── NotFound          404  not_found          no   no such voice, model or context
├── PayloadTooLarge   413  payload_too_large  no   more bytes, samples or text than allowed
├── Overloaded        429  overloaded         yes  refused at admission; running streams are safe
├── EngineFailed      500  engine_failed      no   the model broke on this request
├── EngineRestarting  503  engine_restarting  yes  the model died and is being started again
├── ShuttingDown      503  shutting_down      yes  this replica drains; another one serves
└── DeadlineExceeded  504  deadline_exceeded  yes  not done in the time allowed
"""

from typing import ClassVar


class SpeechError(Exception):
    """Base of every error that the server tells a client about.

    The message is sent to the client as it is: it names the fault and, where there is one, the
    fix. It never holds what a caller said or what was to be spoken.
    """

    code: ClassVar[str] = "speech_error"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequest(SpeechError):
    """The caller's message is malformed, or asks for what cannot be."""

    code = "bad_request"
    http_status = 400


class Unauthorized(SpeechError):
    """An API key is required and was missing or wrong."""

    code = "unauthorized"
    http_status = 401


class NotFound(SpeechError):
    """A named thing (voice, model, context) does not exist; the message lists those that do."""

    code = "not_found"
    http_status = 404


class PayloadTooLarge(SpeechError):
    """More bytes, samples or characters than the server accepts."""

    code = "payload_too_large"
    http_status = 413


class Overloaded(SpeechError):
    """Refused at admission because capacity is in use."""

    code = "overloaded"
    http_status = 429
    retryable = True


class EngineFailed(SpeechError):
    """The model failed on this request."""

    code = "engine_failed"
    http_status = 500


class EngineRestarting(SpeechError):
    """The model's process ended and is being started again; another replica serves."""

    code = "engine_restarting"
    http_status = 503
    retryable = True


class ShuttingDown(SpeechError):
    """The replica is draining."""

    code = "shutting_down"
    http_status = 503
    retryable = True


class DeadlineExceeded(SpeechError):
    """The work was not done within its time limit."""

    code = "deadline_exceeded"
    http_status = 504
    retryable = True
