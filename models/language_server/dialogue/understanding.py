"""What one sentence says: its intents and the day, time, name and reason in it."""

import datetime
import re
from dataclasses import dataclass

from language_server.dialogue.intents import Intent
from language_server.dialogue.matcher import Matcher, built_in_matcher
from language_server.slots import dates, times
from language_server.slots.names import find_name
from language_server.slots.plain_text import MAX_CHARS, plain
from language_server.slots.reasons import find_reason

SENTENCE_THRESHOLD = 0.25
"""Least score for a whole sentence; nonsense stays below 0.2, garbled wishes above 0.3."""
PIECE_THRESHOLD = 0.5
"""Least score for part of a sentence, which proves less."""

_HALF_DAY_DOTS = re.compile(r"\b([ap])\.\s?m\.?(?!\w)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;]+(?:\s+|$)")
_PIECE_END = re.compile(r"\s*,\s*|\s+(?:and|but|then|also|because)\s+", re.IGNORECASE)
_MAX_SEGMENTS = 24
_INTRODUCTION = r"(?:(?:and )?(?:my name(?: is| as)?|this is|i am|it is|name is|for|mr|mrs|ms) )*"
_EMPTY = (
    "on at for the in please to and um uh er oh hmm so well my name is it would be like i a an "
    "about around maybe let us say how make that then or day time if possible with of what am "
    "perhaps better works"
)
_EMPTY_WORDS = frozenset(_EMPTY.split())
_MORNING = re.compile(r"\b(?:morning|before noon|forenoon|a\.?m)\b", re.IGNORECASE)
_AFTERNOON = re.compile(r"\b(?:afternoon|evening|after work|after lunch|p\.?m)\b", re.IGNORECASE)
_EARLIEST = re.compile(
    r"\b(?:earliest|soonest|next (?:available|free|possible|appointment|slot|opening)|"
    r"first (?:available|free|possible|appointment|slot|opening)|as soon as possible|asap|"
    r"how soon)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Heard:
    """The meaning of one utterance."""

    intents: tuple[Intent, ...] = ()
    """What it is for, most important first; empty when nothing was recognised."""
    day: datetime.date | None = None
    time: datetime.time | None = None
    name: str | None = None
    reason: str | None = None
    part_of_day: str | None = None
    """`morning` or `afternoon`."""
    earliest: bool = False
    """The caller wants the first slot there is."""
    silent: bool = False
    """No word at all."""

    @property
    def has_details(self) -> bool:
        """Whether it carries something to book with."""
        return any((self.day, self.time, self.name, self.reason, self.earliest))

    def says(self, *intents: Intent) -> bool:
        """Whether one of the intents was recognised."""
        return any(intent in self.intents for intent in intents)


def understand(
    text: str,
    today: datetime.date,
    *,
    name_asked: bool = False,
    time_asked: bool = False,
    matcher: Matcher | None = None,
) -> Heard:
    """Read one utterance. A name or a number alone counts only when it was asked for."""
    matcher = matcher or built_in_matcher()
    text = _HALF_DAY_DOTS.sub(r"\1m", text[-MAX_CHARS:])
    if not plain(text):
        return Heard(silent=True)
    intents = _intents(text, today, find_name(text), matcher)
    # A sentence that asks for something is no name, however short it is.
    bare_name = name_asked and not set(intents) - {Intent.YES, Intent.GREETING, Intent.BOOK}
    return Heard(
        intents=intents,
        day=dates.find_day(text, today),
        time=times.find_time(text, bare=time_asked),
        name=find_name(text) or (find_name(text, bare=True) if bare_name else None),
        reason=find_reason(text),
        part_of_day=_part_of_day(text),
        earliest=bool(_EARLIEST.search(text)),
    )


def carve(text: str, today: datetime.date, name: str | None = None) -> str:
    """The sentence without days, times and the caller's name, which say nothing of its purpose."""
    words = dates.calendar_text(text)
    words = _without(words, [(m.start, m.end) for m in dates.mentions(words, today)])
    words = times.clock_text(words)
    words = _without(words, [(m.start, m.end) for m in times.mentions(words)])
    if name:
        words = re.sub(rf"\b{_INTRODUCTION}{re.escape(plain(name))}\b", " ", words)
    return " ".join(words.split())


def _intents(
    text: str, today: datetime.date, name: str | None, matcher: Matcher
) -> tuple[Intent, ...]:
    best: dict[Intent, float] = {}
    for segment, threshold in _segments(text):
        words = carve(segment, today, name)
        if not set(words.split()) - _EMPTY_WORDS:
            continue
        match = matcher.best(words)
        if match is not None and match.score >= threshold:
            best[match.intent] = max(match.score, best.get(match.intent, 0.0))
    return tuple(sorted(best, key=lambda i: (matcher.rank(i), best[i]), reverse=True))


def _segments(text: str) -> list[tuple[str, float]]:
    """The whole, its sentences and their pieces, each with the score that it must reach."""
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    segments = [(text, SENTENCE_THRESHOLD)] if len(sentences) < 2 else []
    for sentence in sentences:
        segments.append((sentence, SENTENCE_THRESHOLD))
        pieces = [part for part in _PIECE_END.split(sentence) if part.strip()]
        if len(pieces) > 1:
            segments.extend((piece, PIECE_THRESHOLD) for piece in pieces)
    return list(dict(reversed(segments[-_MAX_SEGMENTS:])).items())


def _part_of_day(text: str) -> str | None:
    if _AFTERNOON.search(text):
        return "afternoon"
    return "morning" if _MORNING.search(text) else None


def _without(words: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        words = f"{words[:start]} {words[end:]}"
    return " ".join(words.split())
