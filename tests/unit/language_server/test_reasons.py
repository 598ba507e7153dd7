import pytest

from language_server.slots.reasons import find_reason


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("a check-up please", "check-up"),
        ("I need a checkup", "check-up"),
        ("to have my teeth cleaned", "cleaning"),
        ("I have a tooth ache", "toothache"),
        ("my tooth hurts", "toothache"),
        ("my wisdom teeth", "wisdom tooth"),
        ("I chipped my tooth", "broken tooth"),
        ("I lost a filling", "filling"),
        ("on Tuesday at three", None),
        ("", None),
    ],
)
def test_finds_the_reason(said: str, reason: str | None) -> None:
    assert find_reason(said) == reason
