from typing import Any

import aiohttp
import pytest
from livekit import api
from livekit.protocol import sip

from tests.unit.voice_agent.telephony.livekit_api import Api
from voice_agent.telephony.phone_spec import TransferSpec
from voice_agent.telephony.transfer import TransferFailed, cold_transfer

ACCOUNTS = TransferSpec(number="+1 555 0199", when="An invoice.", ringing_s=20)


def sip_error(status: int | None = None, reason: str | None = None) -> api.SipCallError:
    metadata = {} if status is None else {"sip_status_code": str(status)}
    metadata |= {} if reason is None else {"sip_transfer_reason": reason}
    return api.SipCallError("unknown", "no to +15550199", status=500, metadata=metadata)


async def transfer(livekit: Api, spec: TransferSpec = ACCOUNTS) -> None:
    service: Any = livekit
    await cold_transfer(service, "room-1", "caller", spec)


async def test_the_carrier_is_asked_to_move_the_caller() -> None:
    livekit = Api()
    await transfer(livekit)
    [request] = livekit.of("transfer")
    assert (request.room_name, request.participant_identity) == ("room-1", "caller")
    assert request.transfer_to == "tel:+15550199"
    assert request.ringing_timeout.seconds == 20
    assert not request.play_dialtone


async def test_an_address_is_left_as_it_is() -> None:
    livekit = Api()
    await transfer(livekit, TransferSpec(number="sip:desk@pbx.example", when="x"))
    assert livekit.of("transfer")[0].transfer_to == "sip:desk@pbx.example"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (sip_error(486), "busy"),
        (sip_error(480), "no answer"),
        (sip_error(reason="STR_RINGING_TIMEOUT"), "no answer"),
        (sip_error(404), "unknown number"),
        (sip_error(405), "not allowed"),
        (sip_error(500), "failed"),
        (sip_error(), "failed"),
        (api.ServerError("deadline_exceeded", "slow", status=408), "no answer"),
        (api.ServerError("internal", "+15550199", status=500), "failed"),
        (aiohttp.ClientConnectionError("+15550199"), "failed"),
        (TimeoutError(), "no answer"),
    ],
)
async def test_a_failure_has_a_reason_and_names_no_number(
    error: Exception, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    livekit = Api()

    async def fail(_: Any) -> None:
        raise error

    livekit.on_transfer = fail
    with pytest.raises(TransferFailed) as failure:
        await transfer(livekit)
    assert failure.value.reason == reason
    assert "5550199" not in caplog.text


async def test_an_answer_may_say_that_it_failed() -> None:
    livekit = Api()

    async def refuse(_: Any) -> Any:
        return sip.TransferSIPParticipantResponse(
            status=sip.SIPTransferStatus.STS_TRANSFER_FAILED,
            sip_status=sip.SIPStatus(code=sip.SIPStatusCode.SIP_STATUS_BUSY_HERE),
        )

    livekit.on_transfer = refuse
    with pytest.raises(TransferFailed, match="busy"):
        await transfer(livekit)
