"""Whether words can be all of a turn: a small model of English that can be read and argued with.

It looks at how the words so far end, not at what they mean: a clause that stops at "from the" goes
on, whatever it is about. In other languages it has no opinion.
"""

import re
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from typing import Final


class Ending(Enum):
    """How the words so far end, most open first."""

    NOTHING = "nothing"
    """No words were read."""
    FILLER = "filler"
    """"um", "so": the caller looks for words."""
    OPEN = "open"
    """With a word that wants another: "the", "from", "because", "I would like to"."""
    DICTATION = "dictation"
    """Inside a number or a spelling, as far as one can tell."""
    SPELLING = "spelling"
    """With as many letters as a name has: it may be whole, or not."""
    UNMARKED = "unmarked"
    """With a word that may end a clause, but the recogniser saw no end of a sentence."""
    OPENING = "opening"
    """A greeting or a name that callers like to go on from."""
    PREFACE = "preface"
    """"yes", "okay", "thank you" where no yes or no was asked for: often the beginning of more."""
    STATEMENT = "statement"
    """As a whole sentence."""
    QUESTION = "question"
    """As a whole question."""
    ANSWER = "answer"
    """A short whole answer, a "yes" or "okay" where a yes or a no was asked for, or a farewell."""
    UNKNOWN = "unknown"
    """Not English: no opinion."""

    @property
    def may_be_whole(self) -> bool:
        """Whether a turn can end like this, as far as the words tell."""
        return self not in _NOT_WHOLE


_NOT_WHOLE: Final = frozenset(
    (Ending.NOTHING, Ending.FILLER, Ending.OPEN, Ending.DICTATION, Ending.UNKNOWN)
)


def _set(words: str, separator: str | None = None) -> frozenset[str]:
    return frozenset(words.split(separator))


_FILLERS: Final = _set("um uh er erm eh ah hmm hm mm so like")
_OPEN: Final = _set(
    # determiners
    "a an the my your his her our their its every no some any which whose "
    # prepositions that hardly end a sentence of a call
    "to from of at for with about by into than as between until till since during near "
    "under against without through across behind per via "
    # conjunctions
    "and but or because that if whether when while where although though unless nor "
    # subjects and verbs that want more
    "i we he she they who i'm i'd i'll i've we're we'd we'll we've he's she's they're it's "
    "there's that's what's am is are was were be been being has have had will would shall "
    "should could can may might must do does did don't doesn't didn't won't wouldn't can't "
    "couldn't isn't aren't wasn't haven't hasn't want need wanted wondering trying going "
    "very too quite really just also only another other last next"
)
_OPEN_TAILS: Final = (
    "would like", "i like", "i think", "i mean", "you know", "let me", "to be", "my name is",
    "i have been", "do you", "can you", "could you", "could you tell me", "how much", "how many",
    "is there", "are there", "there is", "i am", "asked for", "the number is", "date of birth is",
)  # fmt: skip
_WHOLE_THOUGH_OPEN: Final = re.compile(
    r"(?:^| )(?:yes|no|yeah|sure|of course|yes please),? (?:i|it|that|we|he|she|they) "
    r"(?:is|am|are|was|were|do|does|did|will|would|can|could|have|has|had|should)(?:n't)?$"
    r"|^(?:that|there) (?:is|it is)$|^i (?:do|did|have|will|can|am)$"
)
"""Ends of answers that are whole although their last word usually wants another."""
_DIGIT_WORDS: Final = _set("o oh zero one two three four five six seven eight nine double triple")
_NUMBER_WORDS: Final = _DIGIT_WORDS | _set(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty "
    "forty fifty sixty seventy eighty ninety hundred thousand first second third fourth fifth"
)
_DICTATED: Final = re.compile(r"\b(?:number|digits?|code|postcode|zip|spell(?:ed|ing)?|account)\b")
_DIGITS: Final = re.compile(r"o?\d+")
_BARE_NUMBER: Final = re.compile(r" (?:is|on) (?:the )?[\w']+$")
"""Before a number alone, "twelve" or "the second": a street, a month, or more digits follow."""
_WHOLE_NUMBERS: Final = (10, 11)
"""Digits with which a dictated number may well be whole: a national telephone number. With 12 of
them it is rather three quarters of a payment card, which must not be taken for two turns."""
_LONG_NUMBER: Final = 15
"""Digits from which it may well be whole, too: the shortest payment card in use."""
_SHORT_NUMBER: Final = 3
"""Digits or letters in a row that are no more a time, a price or a date."""
_NAME_LETTERS: Final = 4
"""Letters one by one that may be a whole name. Shorter ones are rare, and most pauses in a spelling
come after two or three."""
_QUESTION_WORDS: Final = _set(
    "what when where who why how which is are was do does did can could would will should may "
    "have has"
)
_PREFACES: Final = _set(
    (
        "yes|no|yeah|yep|nope|okay|sure|correct|exactly|of course|all right|fine|perfect|great|"
        "i see|right|thank you|thanks"
    ),
    "|",
)
_ANSWERS: Final = _set(
    (
        "yes please|no thanks|no thank you|that's all|that is all|that's right|that's fine|"
        "that works|that works for me|goodbye|bye|bye bye|thanks bye|thank you goodbye|"
        "okay thank you goodbye|okay thank you|stop|wait|hold on|hang on"
    ),
    "|",
)
_TIMES: Final = _set(
    "monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow noon midnight "
    "morning afternoon evening o'clock am pm ago past thirty fifteen"
)
_TIME_ENDS: Final = _NUMBER_WORDS | _TIMES - {"past"}
_IN_TIMES: Final = (
    _TIMES
    | _NUMBER_WORDS
    | _set(
        "a an at in on the to about this next half quarter minutes hour hours day days week weeks"
    )
)
_ASKS_YES_OR_NO: Final = re.compile(
    r"(?:^|[,;:.!?] )(?:(?:and|or|so) )?(?:is|are|was|were|do|does|did|can|could|will|would|shall|"
    r"should|may|have|has) [^,;:.!?]*\?$"
)
_OPENINGS: Final = re.compile(
    r"^(?:(?:hello|hi|hey|okay|good (?:morning|afternoon|evening))[,. ]*)+$"
    r"|^(?:hello[,. ]+|hi[,. ]+)?(?:my name is|this is) [\w' -]+$|^let me (?:see|think)$"
)
_WORD: Final = re.compile(r"[\w']+")


@lru_cache(maxsize=16)
def ending(text: str, language: str, agent_said: str = "") -> Ending:
    """Say how words end.

    Args:
        text: the transcript of the turn so far, with the recogniser's punctuation.
        language: BCP 47 tag of what is spoken; empty where it is not known.
        agent_said: what they may be the answer to.
    """
    if not text.strip():
        return Ending.NOTHING
    if not language.lower().startswith("en"):
        return Ending.UNKNOWN
    words = _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    if not words:
        return Ending.NOTHING
    sentence = _last_sentence(text)
    said = " ".join(_WORD.findall(sentence.lower())) or " ".join(words)
    mark = text.rstrip()[-1]
    if said in _PREFACES:
        return Ending.ANSWER if _asks_yes_or_no(agent_said) else Ending.PREFACE
    if words[-1] in _FILLERS:
        return Ending.FILLER
    if said in _ANSWERS or (mark != "?" and _is_a_time(said.split())):
        return Ending.ANSWER
    symbols = _last_symbols(words)
    if _dictates(said, words, symbols):
        return Ending.SPELLING if _spells_a_name(symbols) else Ending.DICTATION
    if _is_open(words, said):
        return Ending.OPEN
    if _OPENINGS.match(said):
        return Ending.OPENING
    if mark == "?":
        return Ending.QUESTION
    if mark in ".!":
        asks = said.split()[0] in _QUESTION_WORDS and len(said.split()) > 2
        return Ending.QUESTION if asks else Ending.STATEMENT
    return Ending.UNMARKED


def _asks_yes_or_no(text: str) -> bool:
    """Whether the last that was said asks for a yes or a no."""
    return _ASKS_YES_OR_NO.search(text.strip().lower()) is not None


def _is_a_time(words: list[str]) -> bool:
    """Whether there is nothing but a time: "half past ten", "Tuesday at three thirty"."""
    named = ["one" if _DIGITS.fullmatch(word) else word for word in words]
    return named[-1] in _TIME_ENDS and _IN_TIMES.issuperset(named) and not _TIMES.isdisjoint(named)


def _is_open(words: list[str], said: str) -> bool:
    if words[-1] in _OPEN:
        return not _WHOLE_THOUGH_OPEN.search(said)
    return any(f" {said}".endswith(f" {tail}") for tail in _OPEN_TAILS)


def _dictates(said: str, words: list[str], symbols: list[str]) -> bool:
    """Whether digits or letters one by one come last, and not as many as a whole number has."""
    if _BARE_NUMBER.search(said) and words[-1] in _NUMBER_WORDS:
        return True
    count = sum(len(word) if _DIGITS.fullmatch(word) else 1 for word in symbols)
    expected = _DICTATED.search(said) is not None or count >= _SHORT_NUMBER
    return expected and 0 < count < _LONG_NUMBER and count not in _WHOLE_NUMBERS


def _last_symbols(words: list[str]) -> list[str]:
    """The digits and the letters one by one that come last, the last of them first."""
    return list(takewhile(_is_symbol, reversed(words)))


def _is_symbol(word: str) -> bool:
    return len(word) == 1 or word in _DIGIT_WORDS or _DIGITS.fullmatch(word) is not None


def _spells_a_name(symbols: list[str]) -> bool:
    letters = all(len(symbol) == 1 and symbol.isalpha() for symbol in symbols)
    return letters and len(symbols) >= _NAME_LETTERS


def _last_sentence(text: str) -> str:
    """The words after the last full stop that has words behind it; spelled letters have stops."""
    return re.split(r"(?<=\w\w[.!?])\s+", text.strip())[-1]
