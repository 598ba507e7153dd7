"""What is said: replies of the demo's front desk, and how a language model would write them."""

import json
import re
from pathlib import Path
from typing import Final

from bench.options import BadOption
from bench.tts.snac_work import TINY_VOICE
from speech_server.tts.orpheus_codes import Frame

_FILE: Final = Path(__file__).with_name("replies.txt")
_TOKEN: Final = re.compile(r"\s*(?:\w{1,5}|[^\w\s])")
"""About four characters with the space before them, as a language model's tokens of English are."""


def read_replies(file: Path | None = None) -> list[str]:
    """The replies of a file, one on each line; without one those of the demo.

    Raises:
        BadOption: there is no such file, or nothing in it.
    """
    try:
        lines = (file or _FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(f"--texts {file}: {error}") from error
    replies = [line.strip() for line in lines if line.strip()]
    if not replies:
        raise BadOption(f"--texts {file}: no text in it; give one reply on each line")
    return replies


def tiny_voice_replies() -> dict[str, list[Frame]]:
    """What the tests' tiny voice can say, and the frames of codes that say it."""
    entries = json.loads((TINY_VOICE / "codes.json").read_text(encoding="utf-8"))["sentences"]
    return {entry["text"]: [tuple(frame) for frame in entry["frames"]] for entry in entries}


def tokens_of(text: str) -> list[str]:
    """A text in the pieces in which a language model would write it; together they are the text."""
    pieces = _TOKEN.findall(text)
    rest = text[sum(map(len, pieces)) :]
    return [*pieces, rest] if rest else pieces
