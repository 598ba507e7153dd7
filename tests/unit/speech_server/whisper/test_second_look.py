"""A text that the guards doubt is read a second time."""

from collections.abc import Sequence

import pytest

from speech_server.stt.engine import Utterance
from speech_server.stt.whisper import WhisperEngine
from speech_server.stt.whisper_decoder import Reading, WhisperDecoder, Window
from tests.unit.speech_server.micro_whisper import WHEN, heard, spoken


class _Doubtful:
    """Reads nonsense in every short window."""

    def __init__(self, second: Reading) -> None:
        self.second = second
        self.windows: list[Window] = []

    def read(self, windows: Sequence[Window]) -> list[Reading]:
        self.windows.extend(windows)
        first = Reading("you " * 100, "en", -0.1, 0.0, None)
        return [first if w.features.shape[1] < 3000 else self.second for w in windows]


def _second_look(engine: WhisperEngine, second: Reading) -> tuple[str, list[Window]]:
    doubtful = _Doubtful(second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhisperDecoder, "read", lambda _, windows: doubtful.read(windows))
        (text,) = heard(engine, Utterance(spoken(WHEN), prompt="Peter Miller"))
    return text, doubtful.windows


def test_a_doubted_text_is_read_again_in_the_full_window_without_the_prompt(
    engine: WhisperEngine,
) -> None:
    text, (first, second) = _second_look(engine, Reading(WHEN, "en", -0.1, 0.0, None))
    assert text == WHEN
    assert first.prompt
    assert second.prompt == ()
    assert second.features.shape[1] == 3000


@pytest.mark.parametrize(
    ("text", "log_probability", "no_speech", "settled"),
    [
        ("you " * 100, -0.1, 0.0, "you"),
        ("Thank you for watching. " * 30, -0.1, 0.0, "Thank you for watching."),
        ("Subtitles by the community. " * 2 + "many " * 40, -0.1, 0.0, ""),
        (" ".join(map(str, range(100))), -0.1, 0.0, ""),
        ("Perhaps.", -2.0, 0.1, "Perhaps."),
        ("Perhaps.", -2.0, 0.9, ""),
    ],
)
def test_what_the_second_look_confirms_is_settled(
    engine: WhisperEngine, text: str, log_probability: float, no_speech: float, settled: str
) -> None:
    second = Reading(text, "en", log_probability, no_speech, None)
    assert _second_look(engine, second)[0] == settled
