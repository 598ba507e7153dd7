import pytest

from tests.unit.voice_agent.telephony.rooms import Room
from voice_agent.telephony import key_sender
from voice_agent.telephony.key_sender import MAX_SENT, checked_keys, send_keys


@pytest.mark.parametrize(
    ("value", "row"), [("12#", "12#"), (" 1-2 3 ", "123"), ("w1w*#", "w1w*#"), ("1" * 24, "1" * 24)]
)
def test_a_row_of_keys(value: str, row: str) -> None:
    assert checked_keys(value) == row


@pytest.mark.parametrize(
    "value", ["", "www", "A", "1,2", "+1555", "1" * (MAX_SENT + 1), "1" * 10**6, "tel:1", "\u0661"]
)
def test_nothing_else_is_pressed(value: str) -> None:
    with pytest.raises(ValueError, match="1 to 24"):
        checked_keys(value)


async def test_keys_are_pressed_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sender, "GAP_S", 0.0)
    monkeypatch.setattr(key_sender, "PAUSE_S", 0.0)
    room = Room()
    await send_keys(room, "1w*#")  # type: ignore[arg-type]
    assert room.local_participant.pressed == [(1, "1"), (10, "*"), (11, "#")]
