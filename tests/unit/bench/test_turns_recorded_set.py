import shutil
from pathlib import Path

import numpy as np
import pytest

from bench.turns import recorded_set as recorded_set_module
from bench.turns.recorded_set import recorded_set
from bench.turns.render import RATE_HZ
from bench.turns.script import read_script

needs_flite = pytest.mark.skipif(shutil.which("flite") is None, reason="flite is not installed")

pytestmark = needs_flite

AUDIBLE = 600
"""|sample| that is above the line's noise and below speech."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines of each voice in place of the whole set."""
    lines = [line for line in read_script() if line.pauses]
    voices = sorted({line.voice for line in lines})
    some = [line for voice in voices for line in [x for x in lines if x.voice == voice][:2]]
    monkeypatch.setattr(recorded_set_module, "read_script", lambda: some)


@pytest.mark.usefixtures("few")
def test_pauses_lie_where_the_set_says_and_the_end_is_the_end(tmp_path: Path) -> None:
    for utterance in recorded_set(tmp_path):
        quiet = np.abs(utterance.pcm.astype(int)) < AUDIBLE
        for pause in utterance.pauses:
            inside = quiet[round(pause.start_s * RATE_HZ) : round(pause.end_s * RATE_HZ)]
            assert inside.all(), utterance.name
        assert quiet[round(utterance.end_s * RATE_HZ) + 1 :].all()
        assert 0 <= len(utterance.pcm) / RATE_HZ - utterance.end_s < 0.02
        assert not quiet.all()


@pytest.mark.usefixtures("few")
def test_the_same_lines_give_the_same_samples(tmp_path: Path) -> None:
    first, again = recorded_set(tmp_path / "a"), recorded_set(tmp_path / "b")
    for one, other in zip(first, again, strict=True):
        assert one.name == other.name
        assert np.array_equal(one.pcm, other.pcm), one.name


@pytest.mark.usefixtures("few")
def test_it_is_rendered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = recorded_set(tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("rendered again")

    monkeypatch.setattr(recorded_set_module, "say_lines", refuse)
    assert [u.name for u in recorded_set(tmp_path)] == [u.name for u in first]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.usefixtures("few")
def test_the_silence_of_a_line_is_its_noise(tmp_path: Path) -> None:
    for utterance in recorded_set(tmp_path):
        silence = utterance.silence(0.5)
        assert len(silence) == RATE_HZ // 2
        level = 20 * np.log10(silence.astype(float).std() / 2**15 / 0.1)
        assert level == pytest.approx(-utterance.noise_db, abs=1.0)
