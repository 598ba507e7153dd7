import pytest

from bench.options import BadOption, parse_rising


def test_rising_numbers_are_read() -> None:
    assert parse_rising("--loads", "1, 4,32", most=32) == (1, 4, 32)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("many", "--loads many: give whole numbers with commas, like 1,4,8"),
        ("4,1", "--loads 4,1: give rising numbers from 1 to 32, like 1,4,8"),
        ("1,33", "--loads 1,33: give rising numbers from 1 to 32, like 1,4,8"),
        ("0", "--loads 0: give rising numbers from 1 to 32, like 1,4,8"),
    ],
)
def test_what_is_wrong_with_others_is_told(text: str, wrong: str) -> None:
    with pytest.raises(BadOption) as told:
        parse_rising("--loads", text, most=32)
    assert str(told.value) == wrong


def test_none_may_be_a_choice() -> None:
    assert parse_rising("--loads", " 0", most=32, may_be_none=True) == ()
    for text in ("many", "0,1"):
        with pytest.raises(BadOption, match="like 1,4,8, or 0 for none"):
            parse_rising("--loads", text, most=32, may_be_none=True)
