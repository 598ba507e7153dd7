import pytest

from bench.options import BadOption, parse_settings
from bench.stt.plan import FULL, parse_steps


def test_steps_are_read() -> None:
    assert parse_steps("1, 2,16") == (1, 2, 16)


@pytest.mark.parametrize("text", ["", "a", "1,,2", "4,2", "2,2", "0,1", "-1", "1,99999", "1.5"])
def test_steps_that_do_not_rise_are_refused(text: str) -> None:
    with pytest.raises(BadOption, match="--streams"):
        parse_steps(text)


def test_settings_are_read_with_or_without_prefix() -> None:
    given = ["stt_shortest_window_s=6", "PARLEY_STT_MODEL=a=b"]
    assert parse_settings(given) == {"stt_shortest_window_s": "6", "stt_model": "a=b"}


@pytest.mark.parametrize("text", ["", "x", "=1", "a b=1"])
def test_a_setting_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match="NAME=VALUE"):
        parse_settings([text])


def test_what_was_not_asked_for_stays() -> None:
    changed = FULL.changed(steps=None, talk_s=5.0, bound_s=0.3)
    assert (changed.steps, changed.talk_s, changed.bound_s) == (FULL.steps, 5.0, 0.3)
