"""The Whisper of 1 MB that hears the tests' sentences; see fixtures/micro_whisper/README.md."""

from pathlib import Path
from typing import Final

SETTINGS: Final = {
    "stt_engine": "whisper",
    "stt_model": str(Path(__file__).parent / "fixtures" / "micro_whisper" / "model"),
    "stt_device": "cpu",
    "stt_language": "en",
    "stt_shortest_window_s": "2",
}
"""With which a server hears with it; without `PARLEY_`, in lower case."""
