from collections.abc import Iterator, Sequence

import pytest

from speech_server.stt.whisper import WhisperEngine
from speech_server.stt.whisper_decoder import Reading, WhisperDecoder, Window
from tests.unit.speech_server.micro_whisper import BREAKS_S, loaded_engine


@pytest.fixture(scope="module")
def engine() -> Iterator[WhisperEngine]:
    engine = loaded_engine()
    yield engine
    engine.close()


@pytest.fixture
def model_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """Every call of the model from now on: windows in it and their length in seconds."""
    calls: list[tuple[int, float]] = []
    read = WhisperDecoder.read

    def counted(self: WhisperDecoder, windows: Sequence[Window]) -> list[Reading]:
        calls.append((len(windows), windows[0].features.shape[1] / 100))
        if any(window.speech_s == BREAKS_S for window in windows):
            raise RuntimeError("out of memory")
        return read(self, windows)

    monkeypatch.setattr(WhisperDecoder, "read", counted)
    return calls
