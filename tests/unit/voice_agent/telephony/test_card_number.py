from datetime import date

import pytest

from voice_agent.telephony.card_number import brand_of, is_card_number, is_expiry, luhn

TODAY = date(2026, 11, 21)

TEST_CARDS = [
    ("4111111111111111", "Visa"),
    ("4222222222222", "Visa"),
    ("5555555555554444", "Mastercard"),
    ("2223003122003222", "Mastercard"),
    ("378282246310005", "American Express"),
    ("36227206271667", "Diners Club"),
    ("6011111111111117", "Discover"),
    ("3566002020360505", "JCB"),
    ("6200000000000005", "UnionPay"),
    ("6759649826438453", "Maestro"),
]
"""Numbers that card schemes and payment services publish for tests."""


@pytest.mark.parametrize(("number", "brand"), TEST_CARDS)
def test_published_test_cards(number: str, brand: str) -> None:
    assert is_card_number(number.encode())
    found = brand_of(number.encode())
    assert found is not None
    assert found.name == brand


@pytest.mark.parametrize(("number", "_"), TEST_CARDS)
def test_one_wrong_digit_is_noticed(number: str, _: str) -> None:
    for place in range(4, len(number)):
        wrong = str((int(number[place]) + 1) % 10)
        assert not is_card_number(f"{number[:place]}{wrong}{number[place + 1 :]}".encode())


@pytest.mark.parametrize(
    "number",
    ["", "0", "4", "0000000000000000", "411111111111111", "9111111111111111", "4" * 100],
)
def test_what_is_no_card(number: str) -> None:
    assert not is_card_number(number.encode())


def test_swapped_neighbours_are_noticed() -> None:
    assert luhn(b"79927398713")
    assert not luhn(b"79927398731")


@pytest.mark.parametrize(
    ("expiry", "good"),
    [
        ("1126", True),
        ("1026", False),
        ("0127", True),
        ("1346", False),
        ("0027", False),
        ("1299", False),
        ("112", False),
        ("", False),
    ],
)
def test_an_expiry_is_a_month_to_come(expiry: str, good: bool) -> None:
    assert is_expiry(expiry.encode(), TODAY) is good
