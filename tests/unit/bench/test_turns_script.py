from collections import Counter
from pathlib import Path

import pytest

from bench.turns.script import TURN_KINDS, VOICES_PER_LINE, read_script

SCRIPT = read_script()


def written(folder: Path, line: str, voices: str = "[slt, rms]") -> Path:
    file = folder / "utterances.yaml"
    file.write_text(f"tuned:\n  voices: {voices}\n  lines:\n    hesitation:\n      - {line}\n")
    return file


def test_there_are_enough_of_each_kind_in_both_parts() -> None:
    counted = Counter((line.part, line.kind) for line in SCRIPT)
    for part in ("tuned", "held_out"):
        turns = sum(counted[part, kind] for kind in TURN_KINDS)
        assert turns >= 60
        assert counted[part, "hesitation"] >= 40
        for kind in (*TURN_KINDS, "backchannel", "interruption"):
            assert counted[part, kind] >= 10


def test_the_parts_share_neither_words_nor_voices() -> None:
    for field in ("text", "voice"):
        tuned = {getattr(line, field) for line in SCRIPT if line.part == "tuned"}
        held_out = {getattr(line, field) for line in SCRIPT if line.part == "held_out"}
        assert not tuned & held_out


def test_pauses_are_short_and_long() -> None:
    for part in ("tuned", "held_out"):
        pauses = [p.duration_s for line in SCRIPT if line.part == part for p in line.pauses]
        assert min(pauses) <= 0.25
        assert max(pauses) >= 0.9
        assert len(pauses) > 60


def test_each_line_is_spoken_by_two_voices_and_has_a_name_of_its_own() -> None:
    assert len({line.name for line in SCRIPT}) == len(SCRIPT)
    by_text = Counter((line.part, line.kind, line.text) for line in SCRIPT)
    assert set(by_text.values()) == {VOICES_PER_LINE}


def test_marks_are_not_spoken(tmp_path: Path) -> None:
    line, _ = read_script(written(tmp_path, "I would like to [350] book um [500] a table."))
    assert line.text == line.say == "I would like to book um a table."
    assert [(p.after_word, p.duration_s) for p in line.pauses] == [(4, 0.35), (6, 0.5)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("'[350] I would like'", "stands after a word"),
        ("'I would [350]'", "between two words"),
        ("'I [5000] would like'", "1 to 900 ms"),
        ("{text: Mhm.}", "say"),
    ],
)
def test_a_bad_line_is_refused_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_script(written(tmp_path, line))


def test_a_part_needs_its_voices(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="voices"):
        read_script(written(tmp_path, "Hello there.", voices="[slt]"))
