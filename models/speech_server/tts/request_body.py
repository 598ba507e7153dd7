"""A JSON body of bounded size as a model, or a clear error."""

from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from speech_server.errors import BadRequest, PayloadTooLarge

_MAX_BYTES_PER_CHAR = 12
"""A character outside the basic plane, escaped in JSON: two times `\\uXXXX`."""
_OTHER_FIELDS_BYTES = 65_536

ModelT = TypeVar("ModelT", bound=BaseModel)


def max_body_bytes(max_chars: int) -> int:
    """Largest body that can hold a text of this many characters, bytes."""
    return max_chars * _MAX_BYTES_PER_CHAR + _OTHER_FIELDS_BYTES


async def read_body(request: Request, model: type[ModelT], max_bytes: int) -> ModelT:
    """Read and check a body; reading stops where it grows too large.

    Raises:
        PayloadTooLarge: more than `max_bytes`.
        BadRequest: not JSON, or not what the model wants; every fault is named.
    """
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_bytes:
            raise PayloadTooLarge(f"a request is limited to {max_bytes} bytes")
    return parse(model, bytes(body))


def parse(model: type[ModelT], data: str | bytes) -> ModelT:
    """Check JSON against a model.

    Raises:
        BadRequest: as in `read_body`; the message never repeats the values.
    """
    try:
        return model.model_validate_json(data, strict=True)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'message'}: {fault['msg']}"
            for fault in error.errors(include_input=False, include_url=False)[:8]
        )
        raise BadRequest(faults) from None
