"""The Whisper of 1 MB that hears the tests' sentences; see fixtures/micro_whisper/README.md."""

from pathlib import Path
from typing import Final

SETTINGS: Final = {
    "PARLEY_STT_ENGINE": "whisper",
    "PARLEY_STT_MODEL": str(Path(__file__).parent / "fixtures" / "micro_whisper" / "model"),
    "PARLEY_STT_DEVICE": "cpu",
    "PARLEY_STT_LANGUAGE": "en",
    "PARLEY_STT_SHORTEST_WINDOW_S": "2",
}
"""With which a stack hears with it."""
