import pytest

from tests.unit.voice_agent.telephony.rooms import Room, participant
from voice_agent.telephony.key_line import KeyLine
from voice_agent.telephony.keys import MAX_KEYS


@pytest.fixture
def room() -> Room:
    return Room(participant("caller"), participant("person"))


@pytest.fixture
def line(room: Room) -> KeyLine:
    line = KeyLine(room)  # type: ignore[arg-type]
    line.open()
    return line


async def test_keys_go_to_whoever_listened_last(room: Room, line: KeyLine) -> None:
    conversation: list[str] = []
    card: list[str] = []
    with line.listening("caller", conversation.append):
        room.press("1")
        with line.listening("caller", card.append):
            room.press("23")
        room.press("4")
    room.press("5")
    assert conversation == ["1", "4"]
    assert card == ["2", "3"]


async def test_each_participant_has_keys_of_their_own(room: Room, line: KeyLine) -> None:
    caller: list[str] = []
    person: list[str] = []
    with line.listening("caller", caller.append), line.listening("person", person.append):
        room.press("1", "caller")
        room.press("2", "person")
    assert (caller, person) == (["1"], ["2"])


async def test_a_storm_is_cut_for_its_sender_alone(
    room: Room, line: KeyLine, caplog: pytest.LogCaptureFixture
) -> None:
    caller: list[str] = []
    person: list[str] = []
    with line.listening("caller", caller.append), line.listening("person", person.append):
        room.press("7" * 10_000, "caller")
        room.press("2", "person")
    assert len(caller) == MAX_KEYS
    assert person == ["2"]
    assert [record.message for record in caplog.records] == ["keys come too fast, some are dropped"]


@pytest.mark.parametrize("key", ["", "x", "12", "\n", "\u0664"])
async def test_what_is_no_key_is_dropped(room: Room, line: KeyLine, key: str) -> None:
    heard: list[str] = []
    with line.listening("caller", heard.append):
        room.emit(
            "sip_dtmf_received",
            type("Event", (), {"digit": key, "participant": room.remote_participants["caller"]})(),
        )
    assert heard == []


async def test_keys_of_nobody_are_dropped(room: Room, line: KeyLine) -> None:
    heard: list[str] = []
    with line.listening("caller", heard.append):
        room.press("1", "stranger")
    assert heard == []


async def test_a_closed_line_hears_nothing(room: Room, line: KeyLine) -> None:
    heard: list[str] = []
    with line.listening("caller", heard.append):
        line.close()
        room.press("1")
    assert heard == []
