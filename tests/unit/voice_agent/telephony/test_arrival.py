from typing import Any

from tests.unit.voice_agent.telephony.rooms import STANDARD, participant
from voice_agent.telephony.arrival import phone_caller_of


class Job:
    def __init__(self, caller: Any = None) -> None:
        self._caller = caller

    def is_fake_job(self) -> bool:
        return self._caller is None

    async def wait_for_participant(self) -> Any:
        return self._caller


async def caller_of(job: Any) -> Any:
    return await phone_caller_of(job)


async def test_a_telephone_is_known_before_the_session_is_made() -> None:
    caller = await caller_of(Job(participant(trunkPhoneNumber="+15550100", ruleID="SDR_1")))
    assert caller.dialled == "+15550100"


async def test_a_browser_has_no_number() -> None:
    assert await caller_of(Job(participant(kind=STANDARD))) is None


async def test_the_console_has_no_room_to_wait_in() -> None:
    assert await caller_of(Job()) is None
