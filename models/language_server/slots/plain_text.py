"""One spelling for everything a caller can say: lower case, no punctuation, digits for numbers."""

import re
import unicodedata

from text_to_num import alpha2digit

MAX_CHARS = 2000
"""Longest stretch of one utterance that is looked at, characters. The newest part is kept."""

_CONTRACTIONS = {
    "i'm": "i am",
    "i'd": "i would",
    "i've": "i have",
    "i'll": "i will",
    "it's": "it is",
    "that's": "that is",
    "what's": "what is",
    "when's": "when is",
    "where's": "where is",
    "who's": "who is",
    "there's": "there is",
    "name's": "name is",
    "let's": "let us",
    "you're": "you are",
    "don't": "do not",
    "can't": "can not",
    "cannot": "can not",
    "didn't": "did not",
    "doesn't": "does not",
    "won't": "will not",
    "wouldn't": "would not",
    "couldn't": "could not",
    "isn't": "is not",
    "aren't": "are not",
    "o'clock": "oclock",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
}
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u2013": "-", "\u2014": " "})
_HALF_DAYS = re.compile(r"\b([ap])\s?\.?\s?m\b\.?(?!\w)")
_CLOCK_DOT = re.compile(r"(?<!\d)(\d{1,2})\.(\d{2})(?!\d)")
_ORDINAL_GAP = re.compile(r"(\d)\s+(st|nd|rd|th)\b")
_LONELY_MARKS = re.compile(r"(?<!\d)[:/-]|[:/-](?!\d)")
_NOT_PLAIN = re.compile(r"[^a-z0-9:/' -]")


def plain(text: str) -> str:
    """Lower-case ASCII words with single spaces; `:`, `/` and `-` survive only inside numbers."""
    text = unicodedata.normalize("NFKD", text[-MAX_CHARS:].translate(_QUOTES)).lower()
    text = "".join(mark for mark in text if not unicodedata.combining(mark))
    text = _HALF_DAYS.sub(r"\1m ", text)
    text = _CLOCK_DOT.sub(r"\1:\2", text)
    text = _NOT_PLAIN.sub(" ", text)
    text = _LONELY_MARKS.sub(" ", text)
    words = (_CONTRACTIONS.get(word, word.strip("'")) for word in text.split())
    return " ".join(" ".join(words).split())


def with_digits(plain_text: str) -> str:
    """Plain text with number words written as digits: "three thirty" becomes "3 30"."""
    digits = alpha2digit(plain_text, "en", threshold=0)
    return _ORDINAL_GAP.sub(r"\1\2", digits)
