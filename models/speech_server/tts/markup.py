"""Plain text from what a language model wrote: markdown, emoji and control tokens removed.

Models leak their own control tokens, and a caller can make them say some: of what is in angle
brackets, only the sounds that the engine knows reach it.
"""

import html
import re
import unicodedata
from collections.abc import Set

from speech_server.tts.characters import PLAIN_PUNCTUATION

_CONTROL = re.compile(
    r"<\|[^<>\n]{0,128}?\|>"  # <|im_end|> and the like
    r"|<<[^<>\n]{0,256}>>"  # inline phonemes of other dialects
    r"|</?(?:[^\W\d]|[!?\ue000-\uf8ff])[^<>\n]{0,256}>"  # <custom_token_7>, SSML, HTML, <<laugh>
)
_REMOVED = "\0"
"""Stands where a token was, while others are still being removed; occurs in no text."""
_UNCLOSED_CONTROL = re.compile(r"<(?:[|/]|custom_token_)\S*|<(?=[^\W\d]|[!?\ue000-\uf8ff])")
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^()\s]{0,1000}\)")
_LINE_MARK = re.compile(
    r"(?m)^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|>[ \t]?|\|?[ \t]*:?-{3,}[-:| \t]*$)"
)
# A star or a tilde between numbers is arithmetic, an underscore inside a word belongs to it.
_EMPHASIS = re.compile(r"\*(?!\s?\d)|(?<!\d)(?<!\d\s)\*|~~|`+|(?<!\w)_+|_+(?!\w)")

_FIRST_MARK = 0xE000
"""Code point that stands for the first sound while markup is removed: private use, which no text
keeps."""
SOUND_END = ".,;:!?"
"""Punctuation that may be written to a sound."""
_MARK = re.compile(rf"\s*([\ue000-\uf8ff])(?:([{SOUND_END}]+)(?=\s|$))?\s*")


def strip_markup(text: str, sounds: Set[str] = frozenset()) -> str:
    """Remove control tokens, tags, markdown, emoji and invisible characters.

    Args:
        text: as a language model wrote it.
        sounds: tags to keep, in lower case with their angle brackets.

    Returns:
        Plain text; may be empty. The sounds in it are in lower case, each at the beginning of a
        blank-delimited word that holds nothing else but punctuation; an angle bracket that is left
        besides them opens no token.
    """
    text, marks = _mark_sounds(text, sounds)
    text = _LINK.sub(r"\1", text)
    text = _LINE_MARK.sub("", text)
    text = _EMPHASIS.sub("", text)
    text = text.translate(PLAIN_PUNCTUATION).replace("—", ", ")
    # Last, because all of the above can lay the halves of a token side by side.
    text = _strip_control(text).replace("|", " ")
    return _MARK.sub(lambda found: f" {marks[found[1]]}{found[2] or ''} ", text)


def _mark_sounds(text: str, sounds: Set[str]) -> tuple[str, dict[str, str]]:
    """Replace every sound, so that what is removed later can neither harm nor make one.

    Returns:
        The text without characters that nothing is said for, and the sound of each mark in it.
    """
    names = sorted(sounds)
    marks = {chr(_FIRST_MARK + index): name for index, name in enumerate(names)}
    if not names:
        return _strip_invisible(text), marks
    known = re.compile(
        f"({'|'.join(map(re.escape, names))})",
        re.IGNORECASE | re.ASCII,  # ASCII: no long s for an "s"
    )
    mark_of = {name: mark for mark, name in marks.items()}
    parts = known.split(text)
    return "".join(
        mark_of[part.lower()] if index % 2 else _strip_invisible(part)
        for index, part in enumerate(parts)
    ), marks


def _strip_invisible(text: str) -> str:
    return "".join(char for char in html.unescape(text) if _is_text(char))


def _is_text(char: str) -> bool:
    if char.isspace() or char == "°":
        return True
    category = unicodedata.category(char)
    # So: emoji and pictures; Sk: their skin tones; C*: control, format, private, unassigned.
    # Me and the variation selectors glue emoji together.
    if category[0] == "C" or category in {"So", "Sk", "Me"}:
        return False
    return not "\ufe00" <= char <= "\ufe0f"


def _strip_control(text: str) -> str:
    # Removing one token can join the halves of another ("<<|x|>|y|>"): until none is left.
    while (stripped := _CONTROL.sub(_REMOVED, text)) != text:
        text = stripped.replace(f"<{_REMOVED}", "<")
    return _UNCLOSED_CONTROL.sub(" ", text).replace(_REMOVED, " ")
