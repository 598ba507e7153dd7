"""Text as it is spoken: markup and control tokens removed; times and addresses written out.

Language models write for eyes: markdown, emoji, `15:00`. They also leak their own control tokens,
and a caller can make them say some: nothing in angle brackets ever reaches an engine.
"""

import html
import re
import unicodedata
from dataclasses import dataclass

from speech_server.tts.characters import PLAIN_PUNCTUATION

_CONTROL = re.compile(
    r"<\|[^<>\n]{0,128}?\|>"  # <|im_end|> and the like
    r"|<<[^<>\n]{0,256}>>"  # inline phonemes of other dialects
    r"|</?[A-Za-z_!?][^<>\n]{0,256}>"  # <custom_token_7>, <laugh>, SSML, HTML
)
_REMOVED = "\0"
"""Stands where a token was, while others are still being removed; occurs in no text."""
_UNCLOSED_CONTROL = re.compile(r"<(?:[|/]|custom_token_)\S*|<(?=[A-Za-z_!?])")
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^()\s]{0,1000}\)")
_LINE_MARK = re.compile(
    r"(?m)^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|>[ \t]?|\|?[ \t]*:?-{3,}[-:| \t]*$)"
)
# A star or a tilde between numbers is arithmetic, an underscore inside a word belongs to it.
_EMPHASIS = re.compile(r"\*(?!\s?\d)|(?<!\d)(?<!\d\s)\*|~~|`+|(?<!\w)_+|_+(?!\w)")

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty")

_CLOCK = r"(?<![\d:.,])(?:[01]?\d|2[0-3]):[0-5]\d(?![\d:]|[.,]\d)"
_CLOCK_RANGE = re.compile(rf"({_CLOCK})\s?-\s?(?={_CLOCK})")
_TIME = re.compile(rf"({_CLOCK})(?:([ap])\.?m\b\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(?<![\d:.,])(1[0-2]|0?[1-9])([ap])\.?m\b\.?", re.IGNORECASE)
_ISO_DATE = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")
_URL = re.compile(r"\b(?:https?://|www\.)[^\s<>\"']+", re.IGNORECASE)
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_CURRENCY = re.compile(r"([€£])\s?(\d+(?:[.,]\d+)*)")
_CURRENCY_NAMES = {"€": "euros", "£": "pounds"}
_SIGNS = {"&": "and", "*": "times", "<": "less than", ">": "greater than"}
"""Signs that stand alone and that the engines would pass over or misread."""
_PHRASES = (
    (re.compile(r"\be\.\s?g\.", re.IGNORECASE), "for example"),
    (re.compile(r"\bi\.\s?e\.", re.IGNORECASE), "that is"),
    (re.compile(r"(?<=\d)(?=[¼½¾⅓⅔])"), " and "),
    (re.compile(r"°\s?C\b"), " degrees Celsius"),
    (re.compile(r"°\s?F\b"), " degrees Fahrenheit"),
    (re.compile(r"°"), " degrees"),
    (re.compile(r"(?<=\d)\s?\*\s?(?=\d)"), " times "),
)


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Text for an engine, and which written word each of its words stands for."""

    words: tuple[str, ...]
    """What the engine is to say, one whitespace-delimited word each."""
    written: tuple[str, ...]
    """The words as they were written, without markup."""
    origin: tuple[int, ...]
    """For each of `words`, the index of its written word."""

    @property
    def text(self) -> str:
        """The words joined by single blanks."""
        return " ".join(self.words)

    @property
    def speakable(self) -> bool:
        """Whether there is anything but punctuation in it."""
        return any(char.isalnum() for word in self.words for char in word)


def strip_markup(text: str) -> str:
    """Remove control tokens, tags, markdown, emoji and invisible characters.

    Args:
        text: as a language model wrote it.

    Returns:
        Plain text; may be empty.
    """
    text = "".join(char for char in html.unescape(text) if _is_text(char))
    text = _LINK.sub(r"\1", text)
    text = _LINE_MARK.sub("", text)
    text = _EMPHASIS.sub("", text)
    text = text.translate(PLAIN_PUNCTUATION).replace("—", ", ")
    # Last, because all of the above can lay the halves of a token side by side.
    return _strip_control(text).replace("|", " ")


def _strip_control(text: str) -> str:
    # Removing one token can join the halves of another ("<<|x|>|y|>"): until none is left.
    while (stripped := _CONTROL.sub(_REMOVED, text)) != text:
        text = stripped.replace(f"<{_REMOVED}", "<")
    return _UNCLOSED_CONTROL.sub(" ", text).replace(_REMOVED, " ")


def _is_text(char: str) -> bool:
    if char.isspace() or char == "°":
        return True
    category = unicodedata.category(char)
    # So: emoji and pictures; Sk: their skin tones; C*: control, format, private, unassigned.
    # Me and the variation selectors glue emoji together.
    if category[0] == "C" or category in {"So", "Sk", "Me"}:
        return False
    return not "\ufe00" <= char <= "\ufe0f"


def normalise(text: str) -> SpokenText:
    """Prepare one segment for an engine.

    Args:
        text: one segment as a language model wrote it.

    Returns:
        What to say; `speakable` is False when nothing of it can be said.
    """
    plain = _CLOCK_RANGE.sub(r"\1 to ", strip_markup(text))
    words: list[str] = []
    origin: list[int] = []
    written = plain.split()
    for index, word in enumerate(_join_meridiem(written)):
        for spoken in _write_out(word).split():
            words.append(spoken)
            origin.append(index)
    return SpokenText(tuple(words), tuple(written), tuple(origin))


def _join_meridiem(written: list[str]) -> list[str]:
    """Tell a time that `a.m.` or `p.m.` follows, so that 3:00 p.m. is not "three o'clock p.m."."""
    following = [*written[1:], ""]
    return [
        re.sub(r"(?<!\d)(\d{1,2}):00$", r"\1", word)
        if re.match(r"[ap]\.?m\b", nxt, re.IGNORECASE)
        else word
        for word, nxt in zip(written, following, strict=False)
    ]


def _write_out(word: str) -> str:
    word = _URL.sub(lambda found: _spell_address(found[0]), word)
    word = _EMAIL.sub(lambda found: _spell_address(found[0]), word)
    word = _ISO_DATE.sub(_spell_date, word)
    word = _TIME.sub(_spell_time, word)
    word = _HOUR.sub(lambda found: f"{int(found[1])} {found[2]}.m.", word)
    word = _CURRENCY.sub(lambda found: f"{found[2]} {_CURRENCY_NAMES[found[1]]}", word)
    for pattern, replacement in _PHRASES:
        word = pattern.sub(replacement, word)
    if word in _SIGNS:
        return _SIGNS[word]
    return word.replace("&", " and ").replace("_", " ")


def _number(value: int) -> str:
    """A number below 60 in words."""
    if value < 20:
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return _TENS[tens] + (f" {_ONES[ones]}" if ones else "")


def _spell_time(found: re.Match[str]) -> str:
    hour, minute = (int(part) for part in found[1].split(":"))
    meridiem = f" {found[2]}.m." if found[2] else ""
    if minute:
        spoken = f"{_number(hour)} {'oh ' if minute < 10 else ''}{_number(minute)}"
    elif meridiem:
        spoken = _number(hour)
    elif 1 <= hour <= 12:
        spoken = f"{_number(hour)} o'clock"
    else:
        spoken = f"{_number(hour)} hundred"
    return spoken + meridiem


def _spell_date(found: re.Match[str]) -> str:
    day = int(found[3])
    suffix = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{_MONTHS[int(found[2]) - 1]} {day}{suffix} {found[1]}"


def _spell_address(address: str) -> str:
    body = address.rstrip(".,;:!?)")
    closing = address[len(body) :]
    body = re.sub(r"^https?://", "", body, flags=re.IGNORECASE)
    body = re.sub(r"^www\.", "", body, flags=re.IGNORECASE).rstrip("/")
    names = {".": " dot ", "/": " slash ", "@": " at ", "-": " dash ", "_": " underscore "}
    spelled = "".join(names.get(char, char if char.isalnum() else " ") for char in body)
    return spelled.strip() + closing
