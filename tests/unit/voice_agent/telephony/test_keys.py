import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_agent.telephony.keys import (
    KEYS,
    MAX_ENTRY_KEYS,
    MAX_KEYS,
    WINDOW_S,
    KeyEntry,
    KeyRate,
    key_code,
)


def press(entry: KeyEntry, keys: str) -> list[str]:
    return [done for key in keys if (done := entry.add(key)) is not None]


def test_the_event_codes_are_those_of_the_standard() -> None:
    assert [key_code(key) for key in "0159*#A"] == [0, 1, 5, 9, 10, 11, 12]


@pytest.mark.parametrize("key", ["", "E", "12", "a", "\u0661"])
def test_there_are_no_other_keys(key: str) -> None:
    with pytest.raises(ValueError, match="0-9"):
        key_code(key)


def test_a_hash_ends_an_entry() -> None:
    entry = KeyEntry()
    assert press(entry, "1234#56#") == ["1234", "56"]
    assert not entry.begun


def test_a_pause_ends_an_entry() -> None:
    entry = KeyEntry()
    assert press(entry, "1234") == []
    assert entry.begun
    assert entry.end() == "1234"
    assert entry.end() is None


def test_a_known_length_ends_an_entry() -> None:
    assert press(KeyEntry(4), "12345678") == ["1234", "5678"]


def test_a_hash_alone_is_a_key_of_a_menu() -> None:
    assert press(KeyEntry(), "#*#") == ["#", "*"]


@pytest.mark.parametrize("ended_by", ["#", "pause"])
def test_an_endless_entry_is_dropped_whole_and_the_next_one_is_not(ended_by: str) -> None:
    entry = KeyEntry()
    assert press(entry, "1" * (MAX_ENTRY_KEYS + 1000)) == []
    assert (entry.add("#") if ended_by == "#" else entry.end()) is None
    assert press(entry, "42#") == ["42"]


def test_the_longest_entry_is_whole() -> None:
    assert press(KeyEntry(), "1" * MAX_ENTRY_KEYS + "#") == ["1" * MAX_ENTRY_KEYS]


@given(st.text(KEYS, max_size=200), st.none() | st.integers(1, MAX_ENTRY_KEYS))
def test_whatever_is_pressed_entries_are_bounded(keys: str, length: int | None) -> None:
    for done in press(KeyEntry(length), keys):
        assert 0 < len(done) <= MAX_ENTRY_KEYS
        assert "#" not in done or done == "#"


def test_a_storm_is_cut_and_a_fast_hand_is_not() -> None:
    rate = KeyRate()
    assert all(rate.admit(key * 0.1) for key in range(100))
    storm = KeyRate()
    taken = [storm.admit(key * 0.001) for key in range(1000)]
    assert sum(taken) == MAX_KEYS
    assert storm.admit(0.999 + WINDOW_S)
