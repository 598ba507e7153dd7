"""How words sound, roughly: a consonant skeleton in which words that are misheard look alike."""

import re

_SPELLINGS = (
    (re.compile(r"^(?:kn|gn|pn)"), "n"),
    (re.compile(r"^wr"), "r"),
    (re.compile(r"^ps"), "s"),
    (re.compile(r"^(?:h|w|y)(?=[aeiou])"), "a"),
    (re.compile(r"wh"), "w"),
    (re.compile(r"ph"), "f"),
    (re.compile(r"tch|ch|sh|sch|ti(?=on)|ci(?=a)|j|dge?(?=$)"), "x"),
    (re.compile(r"th"), "t"),
    (re.compile(r"igh|ough|augh|gh"), "a"),
    (re.compile(r"ck|q|x(?=.)"), "k"),
    (re.compile(r"c(?=[eiy])"), "s"),
    (re.compile(r"c"), "k"),
    (re.compile(r"g(?=[ei])"), "x"),
)
_SIMILAR = str.maketrans("vdbgzm", "ftpksn")
_VOWELS = re.compile(r"[aeiouyhw0-9']+")
_DOUBLES = re.compile(r"(.)\1+")


def sound_key(word: str) -> str:
    """The skeleton of one lower-case word; a leading vowel sound is kept as `a`."""
    for pattern, sound in _SPELLINGS:
        word = pattern.sub(sound, word)
    first = "a" if word[:1] in "aeiouyhw" else ""
    skeleton = _VOWELS.sub("", word.translate(_SIMILAR))
    return first + _DOUBLES.sub(r"\1", skeleton)


def sound_text(words: str) -> str:
    """The skeletons of all words run together, so that moved word boundaries do not matter."""
    return "".join(sound_key(word) for word in words.split())
