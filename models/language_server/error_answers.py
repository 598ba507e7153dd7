"""Errors as answers: in OpenAI's shape, counted, and never with what a caller sent."""

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import Counter
from starlette.exceptions import HTTPException

from language_server.errors import RequestError
from language_server.protocol import ErrorBody, ErrorDetail


def add_error_handlers(app: FastAPI, errors: Counter) -> None:
    """Answer every error as OpenAI would.

    Args:
        app: the application.
        errors: counts them by `code`.
    """

    @app.exception_handler(RequestError)
    async def request_error(request: Request, error: RequestError) -> Response:
        errors.labels(error.code).inc()
        return error.response()

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        detail = ErrorDetail(
            message=str(error.detail), type="invalid_request_error", code="not_found"
        )
        errors.labels("http").inc()
        return JSONResponse(
            ErrorBody(error=detail).model_dump(), error.status_code, dict(error.headers or {})
        )

    @app.exception_handler(Exception)
    async def internal_error(request: Request, error: Exception) -> Response:
        # Starlette raises the exception again after this answer, so that it is logged.
        errors.labels("internal").inc()
        detail = ErrorDetail(message="internal error", type="server_error", code="internal")
        return JSONResponse(ErrorBody(error=detail).model_dump(), 500)
