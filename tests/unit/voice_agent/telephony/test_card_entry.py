from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_agent.telephony.card_entry import CardEntry, Field, Step
from voice_agent.telephony.keys import KEYS

TODAY = date(2026, 11, 21)
VISA = "4111111111111111"
AMEX = "378282246310005"


def press(entry: CardEntry, keys: str) -> Step:
    step = Step.MORE
    for key in keys:
        step = entry.press(key)
    return step


def test_a_card_in_three_fields() -> None:
    entry = CardEntry(TODAY)
    assert press(entry, f"{VISA}#") is Step.NEXT
    assert entry.field is Field.EXPIRY
    assert press(entry, "1228") is Step.NEXT
    assert entry.field is Field.CODE
    assert press(entry, "737") is Step.NEXT
    assert entry.field is None
    assert (entry.brand, entry.last_four) == ("Visa", "1111")


def test_a_code_is_as_long_as_the_brand_wants() -> None:
    entry = CardEntry(TODAY)
    press(entry, f"{AMEX}#1228")
    assert press(entry, "737") is Step.MORE
    assert press(entry, "1") is Step.NEXT


def test_a_pause_ends_a_field() -> None:
    entry = CardEntry(TODAY)
    press(entry, VISA)
    assert entry.is_right
    assert entry.pause() is Step.NEXT
    press(entry, "12")
    assert entry.pause() is Step.WRONG
    assert not entry.begun
    assert entry.pause() is Step.MORE


@pytest.mark.parametrize("keys", ["4111111111111112#", "1234#", "0000000000000000#", "1" * 19])
def test_a_wrong_number_is_gone_at_once(keys: str) -> None:
    entry = CardEntry(TODAY)
    assert press(entry, keys) is Step.WRONG
    assert entry.field is Field.NUMBER
    assert not entry.begun


@pytest.mark.parametrize("expiry", ["1326", "1026", "0000", "12#"])
def test_a_wrong_expiry_is_gone_at_once(expiry: str) -> None:
    entry = CardEntry(TODAY)
    press(entry, f"{VISA}#")
    assert press(entry, expiry) is Step.WRONG
    assert entry.field is Field.EXPIRY


def test_a_star_clears_and_two_stop() -> None:
    entry = CardEntry(TODAY)
    assert press(entry, "4112*") is Step.CLEARED
    assert press(entry, "*") is Step.STOPPED


def test_keys_after_the_last_field_mean_nothing() -> None:
    entry = CardEntry(TODAY)
    press(entry, f"{VISA}#1228737")
    assert press(entry, "9#*") is Step.MORE


@given(st.text(KEYS, max_size=200))
def test_any_keys_can_be_pressed_and_everything_is_wiped(keys: str) -> None:
    entry = CardEntry(TODAY)
    views = []
    for key in keys:
        entry.press(key)
        views.append(entry.card.number.view())
    entry.card.wipe()
    assert not any(any(view) for view in views)
