"""What a role of the speech server is: routes, a life cycle and a model to list."""

from typing import Protocol, runtime_checkable

from fastapi import APIRouter

from speech_server.protocol.rest import ModelCard


class Role(Protocol):
    """Speech to text or text to speech, as the application sees it."""

    @property
    def name(self) -> str:
        """`stt` or `tts`."""
        ...

    @property
    def router(self) -> APIRouter:
        """The role's HTTP and WebSocket routes."""
        ...

    @property
    def model_card(self) -> ModelCard:
        """The entry of `GET /v1/models`."""
        ...

    async def start(self) -> None:
        """Load and warm the engine; raises when it cannot be used."""
        ...

    def drain(self) -> None:
        """Refuse new streams; running ones end by themselves."""
        ...

    async def stop(self) -> None:
        """End running streams and free the engine."""
        ...


@runtime_checkable
class Recovering(Protocol):
    """A role, or its engine, that can be away for a while and comes back by itself."""

    @property
    def recovering(self) -> str | None:
        """Why it cannot be used just now; None while it can."""
        ...
