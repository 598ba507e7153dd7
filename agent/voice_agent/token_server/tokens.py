"""Mints the token that lets one caller into one room, and brings the agent there."""

import json
import secrets
from datetime import timedelta

from livekit import api
from pydantic import BaseModel, ConfigDict

from voice_agent.settings import TokenServerSettings
from voice_agent.token_server.token_request import CallTerms

EMPTY_TIMEOUT_S = 30
"""How long a room waits for its first participant."""
DEPARTURE_TIMEOUT_S = 20
"""How long a room outlives its last participant; a caller who reconnects is back by then."""


class TokenResponse(BaseModel):
    """Answer of `POST /api/token`, in the names of LiveKit's TokenSource contract."""

    model_config = ConfigDict(frozen=True)

    server_url: str
    """WebSocket URL of livekit-server."""
    participant_token: str
    """JWT for `Room.connect`."""
    room_name: str
    """Random, so that nobody can guess their way into a call."""
    participant_name: str


def mint(settings: TokenServerSettings, terms: CallTerms) -> TokenResponse:
    """Make a token for a new room and a new identity."""
    room = f"call-{secrets.token_urlsafe(12)}"
    token = (
        api.AccessToken(settings.livekit_api_key, settings.livekit_api_secret.get_secret_value())
        .with_identity(f"caller-{secrets.token_urlsafe(9)}")
        .with_name(terms.participant_name)
        .with_ttl(timedelta(seconds=settings.token_ttl_s))
        .with_grants(_grants(room))
        .with_room_config(_room_config(settings.agent_name, terms.persona))
    )
    return TokenResponse(
        server_url=settings.web_livekit_url or settings.livekit_url,
        participant_token=token.to_jwt(),
        room_name=room,
        participant_name=terms.participant_name,
    )


def _grants(room: str) -> api.VideoGrants:
    return api.VideoGrants(
        room_join=True,
        room=room,
        can_subscribe=True,
        can_publish=True,
        can_publish_sources=["microphone"],
        can_publish_data=True,  # typed messages: text streams on lk.chat
        can_update_own_metadata=False,
        can_manage_agent_session=False,
        can_subscribe_metrics=False,
        room_create=False,
        room_list=False,
        room_admin=False,
        room_record=False,
        ingress_admin=False,
        hidden=False,
        agent=False,
    )


def _room_config(agent_name: str, persona: str) -> api.RoomConfiguration:
    dispatch = api.RoomAgentDispatch(
        agent_name=agent_name, metadata=json.dumps({"persona": persona})
    )
    return api.RoomConfiguration(
        agents=[dispatch],
        empty_timeout=EMPTY_TIMEOUT_S,
        departure_timeout=DEPARTURE_TIMEOUT_S,
    )
