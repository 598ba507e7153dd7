"""What a failed call means."""

import pytest
from livekit import api

from voice_agent.phone.outcome import RETRYABLE, WORDS, Outcome, outcome_of


def sip_error(status: int) -> api.ServerError:
    return api.SipCallError(
        "resource_exhausted", "x", status=429, metadata={"sip_status_code": str(status)}
    )


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (486, Outcome.BUSY),
        (600, Outcome.BUSY),
        (480, Outcome.NO_ANSWER),
        (408, Outcome.NO_ANSWER),
        (487, Outcome.NO_ANSWER),
        (404, Outcome.NO_SUCH_NUMBER),
        (603, Outcome.DECLINED),
        (607, Outcome.DECLINED),
        (403, Outcome.TRUNK_FAILED),
        (407, Outcome.TRUNK_FAILED),
        (488, Outcome.TRUNK_FAILED),
        (503, Outcome.TRUNK_FAILED),
        (999, Outcome.TRUNK_FAILED),
    ],
)
def test_sip_status(status: int, outcome: Outcome) -> None:
    assert outcome_of(sip_error(status)) == (outcome, status)


def plain(code: str, message: str = "") -> api.ServerError:
    return api.ServerError(code, message, status=500)


def test_errors_without_a_status() -> None:
    assert outcome_of(plain("canceled", "sip request timed out")) == (Outcome.NO_ANSWER, None)
    silent = "transaction failed to complete (0 intermediate responses)"
    assert outcome_of(plain("canceled", silent)) == (Outcome.TRUNK_FAILED, None)
    assert outcome_of(plain("failed_precondition", "no codec")) == (Outcome.TRUNK_FAILED, None)
    assert outcome_of(plain("deadline_exceeded")) == (Outcome.INTERRUPTED, None)
    for code in ("unavailable", "unauthenticated", "not_found", "invalid_argument"):
        assert outcome_of(plain(code)) is None
    assert outcome_of(plain("internal", "sip not connected (redis required)")) is None


def test_nobody_who_refused_is_called_again() -> None:
    final = {Outcome.ANSWERED, Outcome.DECLINED, Outcome.DO_NOT_CALL, Outcome.NO_AGENT}
    assert not RETRYABLE & {*final, Outcome.NO_SUCH_NUMBER, Outcome.INTERRUPTED}
    assert set(WORDS) == set(Outcome)
