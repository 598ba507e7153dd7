"""Reads a request body within its bounds and checks it, with errors a person can act on."""

import asyncio
from typing import TypeVar

from fastapi import Request
from pydantic import ValidationError

from language_server.errors import (
    BadRequest,
    BodyTimeout,
    ModelNotFound,
    TooLarge,
    UnknownParameter,
)
from language_server.protocol import MODEL_ID, ChatRequest, NamedToolChoice
from language_server.settings import LanguageServerSettings

_Request = TypeVar("_Request", bound=ChatRequest)

MAX_FAULTS = 3
"""Faults named in one error message."""
MAX_FAULT_CHARS = 200
"""Longest description of one fault, characters."""


async def read_body(request: Request, settings: LanguageServerSettings) -> bytes:
    """The whole body.

    Raises:
        TooLarge: more bytes than allowed; the rest is not read.
        BodyTimeout: it did not arrive in time.
    """
    limit = settings.language_max_body_bytes
    too_large = TooLarge(f"the body is larger than {limit} bytes")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > limit):
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(settings.language_body_timeout_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
    except TimeoutError:
        raise BodyTimeout("the request body did not arrive in time") from None
    return bytes(body)


def parse_request(body: bytes, settings: LanguageServerSettings) -> ChatRequest:
    """Check a body.

    Raises:
        BadRequest: not JSON, a wrong type, role or value; the message names the field.
        UnknownParameter: a field that this server does not know.
        ModelNotFound: another model was asked for.
        TooLarge: too many messages.
    """
    return check_request(body, ChatRequest, MODEL_ID, settings)


def check_request(
    body: bytes, kind: type[_Request], model: str, settings: LanguageServerSettings
) -> _Request:
    """Check a body against a kind of request.

    Args:
        body: JSON.
        kind: what it has to be.
        model: the one that has to be asked for.
        settings: of the process.

    Raises:
        RequestError: as `parse_request`.
    """
    try:
        request = kind.model_validate_json(body)
    except ValidationError as error:
        raise _bad_request(error) from None
    if unknown := request.unknown_parameters:
        listed = ", ".join(name[:64] for name in unknown[:MAX_FAULTS])
        raise UnknownParameter(f"unknown parameter: {listed}", unknown[0][:64])
    if request.model != model:
        raise ModelNotFound(f"there is only the model {model!r}", "model")
    if len(request.messages) > settings.language_max_messages:
        raise TooLarge(
            f"more than {settings.language_max_messages} messages; leave out the oldest", "messages"
        )
    _check_tool_choice(request)
    return request


def _check_tool_choice(request: ChatRequest) -> None:
    names = [tool.function.name for tool in request.tools or ()]
    if len(set(names)) < len(names):
        raise BadRequest("two tools have the same name", "tools")
    choice = request.tool_choice
    if isinstance(choice, NamedToolChoice) and choice.function.name not in names:
        raise BadRequest("tool_choice names a tool that is not in 'tools'", "tool_choice")
    if choice == "required" and not names:
        raise BadRequest("tool_choice is 'required' but there are no tools", "tool_choice")


def _bad_request(error: ValidationError) -> BadRequest:
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    places = [".".join(str(part) for part in fault["loc"])[:MAX_FAULT_CHARS] for fault in faults]
    told = [
        f"{place or 'body'}: {fault['msg'][:MAX_FAULT_CHARS]}"
        for place, fault in zip(places[:MAX_FAULTS], faults, strict=False)
    ]
    more = f" (and {len(faults) - MAX_FAULTS} more)" if len(faults) > MAX_FAULTS else ""
    return BadRequest("; ".join(told) + more, places[0] or None)
