"""What tests of the Cartesia dialect share: messages out, and checked messages in."""

import base64
import json
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from websockets.asyncio.client import ClientConnection

from speech_server.protocol.speak import ServerMessage

TEXT = "Of course, I can help you with that. Your appointment is on Tuesday afternoon."
_SERVER_MESSAGE: TypeAdapter[Any] = TypeAdapter(ServerMessage)


def generate(context_id: str | None, transcript: str, **fields: object) -> dict[str, object]:
    message = {"context_id": context_id, "transcript": transcript, "model_id": "parley"}
    return {"continue": False, **message, **fields}


async def send(ws: ClientConnection, message: object) -> None:
    await ws.send(json.dumps(message))


async def receive(ws: ClientConnection) -> dict[str, Any]:
    data = await ws.recv()
    assert isinstance(data, str)
    _SERVER_MESSAGE.validate_json(data)
    message: dict[str, Any] = json.loads(data)
    return message


async def until_done(ws: ClientConnection, context_id: str) -> list[dict[str, Any]]:
    """All messages of a context up to its `done` or `error`; other contexts are left out."""
    messages = []
    while not messages or not messages[-1]["done"]:
        message = await receive(ws)
        if message.get("context_id") == context_id:
            messages.append(message)
    return messages


def audio(messages: list[dict[str, Any]]) -> np.ndarray:
    data = b"".join(base64.b64decode(m["data"]) for m in messages if m["type"] == "chunk")
    return np.frombuffer(data, "<i2")


async def still_alive(ws: ClientConnection) -> None:
    await send(ws, generate("still-alive", "Yes."))
    messages = await until_done(ws, "still-alive")
    assert messages[-1]["type"] == "done"
    assert len(audio(messages)) > 2_400
