"""A cold transfer: the carrier is asked to move the caller elsewhere, and the agent is out of it.

SIP REFER. The carrier rings the destination; until it answers the caller stays with us, and comes
back to the conversation when nobody does.
"""

import logging
from typing import Final

import aiohttp
from google.protobuf.duration_pb2 import Duration
from livekit import api
from livekit.api.sip_service import SipService
from livekit.protocol import sip

from voice_agent.telephony.phone_spec import TransferSpec

logger = logging.getLogger(__name__)

_BUSY: Final = frozenset({486, 600})
_NO_ANSWER: Final = frozenset({408, 480, 487})
_UNKNOWN: Final = frozenset({404, 410, 484, 604})
_NOT_ALLOWED: Final = frozenset({401, 403, 405, 407, 501, 603})
"""SIP statuses by what they mean to a caller. Source: RFC 3261, section 21; 405 and 501 are what a
carrier answers that does not do REFER."""


class TransferFailed(Exception):
    """The caller could not be transferred and is still with us.

    Args:
        reason: `busy`, `no answer`, `declined`, `unknown number`, `not allowed` or `failed`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def cold_transfer(
    service: SipService, room: str, identity: str, destination: TransferSpec
) -> None:
    """Have the carrier move a caller; returns once the destination has answered.

    Args:
        service: LiveKit's SIP API.
        room: Name of the room.
        identity: Of the caller in it.
        destination: Where to.

    Raises:
        TransferFailed: they are still here.
    """
    request = api.TransferSIPParticipantRequest(
        room_name=room,
        participant_identity=identity,
        transfer_to=address(destination.number),
        # the hold tone sounds already
        play_dialtone=False,
        ringing_timeout=Duration(seconds=round(destination.ringing_s)),
    )
    try:
        answer = await service.transfer_sip_participant(request)
    except (api.ServerError, aiohttp.ClientError, TimeoutError) as error:
        reason = failure_reason(error)
    else:
        # servers before 1.14 answer with an empty message once it has succeeded
        if answer.status != sip.SIPTransferStatus.STS_TRANSFER_FAILED:
            return
        reason = _reason_of_status(answer.sip_status.code)
    raise TransferFailed(reason)


def address(number: str) -> str:
    """A destination as a URI for a Refer-To header."""
    return number if number.startswith(("sip:", "sips:")) else f"tel:{number}"


def failure_reason(error: Exception) -> str:
    """What a failed dialling or transfer means; see `TransferFailed`."""
    # its message may hold a telephone number
    logger.warning("transfer failed", extra={"error": type(error).__name__})
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, api.SipCallError):
        if error.sip_transfer_reason == "STR_RINGING_TIMEOUT":
            return "no answer"
        return _reason_of_status(error.sip_status_code or 0)
    if isinstance(error, api.ServerError) and error.code == "deadline_exceeded":
        return "no answer"
    return "failed"


def _reason_of_status(status: int) -> str:
    for reason, statuses in (
        ("busy", _BUSY),
        ("no answer", _NO_ANSWER),
        ("unknown number", _UNKNOWN),
        ("not allowed", _NOT_ALLOWED),
    ):
        if status in statuses:
            return reason
    return "failed"
