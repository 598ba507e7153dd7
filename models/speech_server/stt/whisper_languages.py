"""Whisper's language codes and BCP 47 tags. They agree but for a few."""

from typing import Final

_TO_WHISPER: Final = {"cmn": "zh", "fil": "tl", "in": "id", "iw": "he", "jv": "jw", "nb": "no"}
"""Primary tags for which Whisper has another code."""
_TO_BCP_47: Final = {"jw": "jv"}
"""Codes of Whisper's own."""


def whisper_code(tag: str) -> str:
    """The code for a tag: `en` for `en-GB`."""
    primary = tag.partition("-")[0].lower()
    return _TO_WHISPER.get(primary, primary)


def bcp_47_tag(code: str) -> str:
    """The tag for a code."""
    return _TO_BCP_47.get(code, code)
