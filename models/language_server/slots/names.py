"""The caller's name: after a phrase such as "my name is", or alone when it was asked for."""

import re
import unicodedata
from importlib.resources import files

from language_server.slots.dates import MONTHS, WEEKDAYS
from language_server.slots.plain_text import MAX_CHARS, plain

MAX_WORDS = 5
"""Most words of one name."""
MAX_NAME_CHARS = 80
"""Longest name, characters."""

_INTRODUCTIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bmy (?:full )?names?(?:'s| is| as| it's| it is| was|,)? (?P<name>.+)",
        r"\bmy (?:full )?name's (?P<name>.+)",
        r"\b(?:the )?(?:first |last |full )?name(?: is|'s| of) (?P<name>.+)",
        r"\b(?:under|in|with|by) (?:the )?name,? (?P<name>.+)",
        r"\b(?:under|call me|i am called|i'm called) (?P<name>.+)",
        r"\b(?:this is|here is|you are speaking (?:with|to)) (?P<name>.+)",
        r"\b(?:it's|it is|i'm|i am) (?P<name>\S+(?: \S+)?) (?:here|speaking|calling)\b",
        r"(?:^|[.,!?] ?)(?:hello |hi )?(?P<name>[^\s.,!?]+ [^\s.,!?]+) (?:here|speaking)\b",
        r"\b(?:i'm|i am|it's|it is) (?P<name>.+)",
        r"\b(?:for|of) (?:mr\.?|mrs\.?|ms\.?|miss|doctor|dr\.?) (?P<name>.+)",
        r"\b(?:appointment|booking|for|one) for (?P<name>.+)",
        r"\bfor (?P<name>[A-Z]\S+ [A-Z]\S+)",
    )
)
_SURE = 5
"""The first so many introductions leave no doubt; a lower-case word after them may be a name."""
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "doctor", "dr", "mister"})
_FILLER_WORDS = (
    "yes yeah yep sure ok okay well so um uh er oh please hello hi hey certainly it is its it's "
    "that's that would be i'm i am the my name this here speaking thanks thank you and of course "
    "sorry ah hmm no"
)
_FILLERS = frozenset(_FILLER_WORDS.split())
_EVERYDAY = (files("language_server.slots") / "everyday_words.txt").read_text("utf-8")
_NOT_A_NAME = (
    frozenset(_EVERYDAY.split())
    | set(WEEKDAYS)
    | (set(MONTHS) - {"april", "may", "june", "august"})  # which are names as well
)
_NO_NAME_END = re.compile(r"(?:ly|ing|ed|ous|ful|able|less)$")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*", re.UNICODE)
_SPELLED = re.compile(r"(?<![^\W\d_])(?:[^\W\d_][ -]){2,}[^\W\d_](?![^\W\d_])")


def find_name(text: str, *, bare: bool = False) -> str | None:
    """The name that a sentence gives, title-cased ("peter miller" is "Peter Miller"), or None.

    Args:
        text: what was said; case and punctuation may be missing.
        bare: the whole answer may be the name, because it was asked for.
    """
    text = unicodedata.normalize("NFC", text[-MAX_CHARS:]).replace("\u2019", "'")
    text = _SPELLED.sub(lambda match: re.sub(r"[ -]", "", match.group()), text)
    for rank, pattern in enumerate(_INTRODUCTIONS):
        for match in pattern.finditer(text):
            name = _leading_name(match["name"], sure=rank < _SURE, caseless=text.islower())
            if name is not None:
                return name
    return _bare_name(text) if bare else None


def _leading_name(text: str, *, sure: bool, caseless: bool) -> str | None:
    """The name words with which the text begins.

    A name that is not announced clearly needs capital letters: "I'm Peter" is a name, "I'm
    listening" is not. Where the text has no capitals at all, two or three words that do not end
    like adverbs or adjectives will do.
    """
    words: list[str] = []
    position = 0
    for match in _WORD.finditer(text):
        gap, word = text[position : match.start()], match.group()
        if re.search(r"[^\s.]" if not words else r"[^\s]", gap):
            break
        position = match.end()
        if not words and word.lower().rstrip(".") in _TITLES | {"is", "it's"}:
            continue
        if _is_no_name(word) or len(words) == MAX_WORDS:
            break
        words.append(word)
        if text[position : position + 1] == "." and not text[position + 1 : position + 2].strip():
            position += 1
            if len(words) > 1 or len(word) > 2:
                break
    capital = bool(words) and all(word[0].isupper() for word in words)
    likely = caseless and len(words) in (2, 3) and not any(map(_NO_NAME_END.search, words))
    if not words or not (sure or capital or likely):
        return None
    return _titled(words)


def _bare_name(text: str) -> str | None:
    words = _WORD.findall(text)
    while words and words[0].lower() in _FILLERS | _TITLES:
        words.pop(0)
    while words and words[-1].lower() in _FILLERS:
        words.pop()
    if not 1 <= len(words) <= MAX_WORDS or any(map(_is_no_name, words)):
        return None
    if len(plain(text).split()) > MAX_WORDS + 4:
        return None
    return _titled(words)


def _is_no_name(word: str) -> bool:
    """Whether it is an everyday word; "i'd" and "that'll" count by their first part."""
    first, *rest = word.lower().split("'")
    return first in _NOT_A_NAME and (not rest or len(first) > 1 or first == "i")


def _titled(words: list[str]) -> str | None:
    name = " ".join(_title(word) for word in words)
    return name if len(name) <= MAX_NAME_CHARS else None


def _title(word: str) -> str:
    """Capitalise each part; a word with capitals inside ("McDonald") is kept as it is."""
    if any(letter.isupper() for letter in word[1:]) and not word.isupper():
        return word
    parts = re.split(r"(['-])", word)
    return "".join(part if part in "'-" else part.capitalize() for part in parts)
