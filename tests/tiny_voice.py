"""The small SNAC that speaks eight sentences; see tests/fixtures/tiny_voice/README.md."""

import json
from functools import cache
from pathlib import Path
from typing import Final

from speech_server.tts.orpheus_codes import Frame

FOLDER: Final = Path(__file__).parent / "fixtures" / "tiny_voice"
SNAC_FOLDER: Final = FOLDER / "snac"


@cache
def sentences() -> dict[str, list[Frame]]:
    """What it can say, and the frames of codes that say it."""
    entries = json.loads((FOLDER / "codes.json").read_text(encoding="utf-8"))["sentences"]
    return {entry["text"]: [tuple(frame) for frame in entry["frames"]] for entry in entries}
