"""LiveKit's server API, recorded; what each request does is the test's to say."""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from livekit.protocol import sip as protocol


async def nothing(request: Any) -> Any:
    return protocol.TransferSIPParticipantResponse()


class Api:
    """The part of `LiveKitAPI` that calls use. Requests are kept as (name, request)."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.on_transfer: Callable[[Any], Awaitable[Any]] = nothing
        self.on_dial: Callable[[Any], Awaitable[Any]] = nothing
        self.on_subscriptions: Callable[[Any], Awaitable[Any]] = nothing
        self.trunks = ["ST_1"]
        self.sip = self
        self.room = self

    def of(self, name: str) -> list[Any]:
        return [request for kind, request in self.requests if kind == name]

    async def transfer_sip_participant(self, request: Any) -> Any:
        self.requests.append(("transfer", request))
        return await self.on_transfer(request)

    async def create_sip_participant(self, request: Any) -> Any:
        self.requests.append(("dial", request))
        return await self.on_dial(request)

    async def update_subscriptions(self, request: Any) -> Any:
        self.requests.append(("subscriptions", request))
        return await self.on_subscriptions(request)

    async def remove_participant(self, request: Any) -> Any:
        self.requests.append(("remove", request))

    async def list_outbound_trunk(self, request: Any) -> Any:
        return SimpleNamespace(items=[SimpleNamespace(sip_trunk_id=name) for name in self.trunks])
