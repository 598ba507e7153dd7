import pytest

from bench.options import BadOption
from bench.tts.plan import FULL, QUICK, Plan, parse_rates


def test_rates_are_read() -> None:
    assert parse_rates("0.5,1,12") == (0.5, 1, 12)


@pytest.mark.parametrize("text", ["", "x", "2,1", "1,1", "0,1", "-1", "1,9999", "nan", "1,nan"])
def test_rates_that_cannot_be_used_are_told(text: str) -> None:
    with pytest.raises(BadOption, match="--rates"):
        parse_rates(text)


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_the_tiny_voice_is_asked_for_less(plan: Plan) -> None:
    tiny = plan.for_tiny_voice()
    assert max(tiny.rates_hz) <= 1
    assert tiny.talk_s == plan.talk_s


def test_what_was_asked_for_goes_into_the_plan() -> None:
    plan = FULL.changed(rates_hz=(3.0,), talk_s=None, bound_s=0.2, tokens_per_s=50)
    assert (plan.rates_hz, plan.talk_s) == ((3.0,), FULL.talk_s)
    assert (plan.bound_s, plan.tokens_per_s) == (0.2, 50)
