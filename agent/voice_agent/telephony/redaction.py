"""Takes card numbers and verification codes out of text, spoken or written, in English.

A number counts as a card's when its brand, its length and its check digit say so; of other digits
of that length one in ten passes the check digit, and is taken out as well. Recognisers drop and
double digits: in what was heard, a long number that begins like a card's or is said in fours is
taken out whatever its check digit, a shorter one where the speaker calls it a card, and what may
be the half of one, after which the speaker paused, where it is called a payment card's number.
Deterministic, and cheap on text without digits, so that it can run on every turn and on every log
line.
"""

import logging
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from voice_agent.telephony.card_number import (
    MAX_LENGTH,
    MIN_LENGTH,
    brand_of,
    is_card_number,
)
from voice_agent.telephony.spoken_digits import Digits, digit_runs

CARD: Final = "[card number]"
CODE: Final = "[security code]"

MAX_TEXT: Final = 20_000
"""Longest text that is searched; the rest of a longer one is dropped, since it was not."""

MISHEARD_LENGTH: Final = 14
"""Digits from which a number that begins like a card's, or is said like one, counts as one that was
misheard: one less than the shortest card of today. Telephone numbers with their country code have
up to 13."""

_FOURS: Final = 3
"""Groups of four digits that make a number be said like a card's."""

_CALLED_CARD: Final = re.compile(
    r"\b(?:cards?|visa|master\s?card|maestro|am\s?ex|american\s+express|discover|diners)\b",
    re.IGNORECASE,
)
"""What people say before such a number: then `MIN_LENGTH` digits are enough."""
_CALLED_WITHIN: Final = 40
"""Characters before a number in which that is looked for."""

_PAYMENT_CARD: Final = re.compile(
    r"\b(?:credit|debit|payment|bank)\s*card(?:\s+number)?(?:\s+is|'s)?"
    r"(?:\W+(?:to|too|for|o|won|ate|uh|um|er))*\W*$",
    re.IGNORECASE,
)
"""What people say right before the digits of a payment card; a first digit may have been read as
another word."""

_PART_LENGTH: Final = 7
"""Digits from which those count as too many to keep. PCI DSS 3.4.1 allows the first six."""

_JOINT: Final = "\n"
"""Between texts that are searched as one; no word holds it."""

_CODE: Final = re.compile(
    r"(?<!\[)\b(?:cvv2?|cvc2?|csc|cid|c\s?v\s?[vc]|security\s+(?:code|number)|verification\s+(?:code|value|number)"
    r"|(?:three|four|3|4)\s+digits\s+(?:on|from)\s+the\s+(?:back|front))\b",
    re.IGNORECASE,
)
"""What people call a verification code, but for our own mark. PCI DSS 3.3.1: it must never be
stored."""
_CODE_WITHIN: Final = 60
"""Characters after that in which the code itself is looked for."""


def redact(text: str, *, heard: bool = False) -> str:
    """The text without card numbers and verification codes.

    Args:
        text: What was said, keyed in or written.
        heard: Whether a recogniser has heard it, and so may have got digits wrong.
    """
    return redact_all([text], heard=heard)[0]


def redact_all(texts: Sequence[str], *, heard: bool = False) -> list[str]:
    """Several texts of one speaker, in order: a number that began in one may end in the next."""
    redacted = [text[:MAX_TEXT] for text in texts]
    # What follows a card in one breath is judged by itself once the card is out. It comes to an
    # end: every round takes digits out and puts none in.
    while spans := _spans(_JOINT.join(redacted), heard):
        redacted = _without(redacted, spans)
    return redacted


class RedactingFilter(logging.Filter):
    """Takes card numbers out of log records: out of the message, its arguments and its fields."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; every record passes."""
        message = record.getMessage()
        redacted = redact(message, heard=True)
        if redacted != message:
            record.msg, record.args = redacted, None
        for name, value in record.__dict__.items():
            if isinstance(value, str) and name not in {"msg", "message", "name", "pathname"}:
                record.__dict__[name] = redact(value, heard=True)
        return True


_FILTER: Final = RedactingFilter()


def redact_framework_logs() -> None:
    """Keep card numbers out of what LiveKit's framework logs, which quotes callers at times."""
    logging.getLogger("livekit.agents").addFilter(_FILTER)


def _spans(text: str, heard: bool) -> list[tuple[int, int, str]]:
    """Where something is to be taken out, and what it is called then."""
    return sorted([*_card_spans(text, heard), *_code_spans(text)], reverse=True)


def _without(texts: Sequence[str], spans: Sequence[tuple[int, int, str]]) -> list[str]:
    """The texts without these stretches of them all together, last stretch first."""
    starts = [0, *accumulate(len(text) + len(_JOINT) for text in texts)]
    redacted = []
    for text, offset in zip(texts, starts, strict=False):
        part = text
        for start, end, name in spans:
            first, last = max(start - offset, 0), min(end - offset, len(part))
            if first < last:
                part = f"{part[:first]}{name}{part[last:]}"
        redacted.append(part)
    return redacted


def _card_spans(text: str, heard: bool) -> list[tuple[int, int, str]]:
    spans = []
    for run in digit_runs(text):
        digits = "".join(said.value for said in run)
        if heard and (_is_part(digits, text[: run[0].start]) or _is_in_fours(digits, run, text)):
            spans.append((run[0].start, run[-1].end, CARD))
            continue
        if len(digits) < MIN_LENGTH:
            continue
        # which piece of the text says each digit
        owners = [said for said in run for _ in said.value]
        shortest = _shortest_misheard(text[: run[0].start])
        first, begins = 0, True
        while first <= len(digits) - MIN_LENGTH:
            length = _card_length(digits, first)
            if heard and begins and not length and _is_misheard(digits[first:], shortest):
                length = len(digits) - first
            if length:
                spans.append((owners[first].start, owners[first + length - 1].end, CARD))
            begins = bool(length)
            first += length or 1
    return spans


def _card_length(digits: str, first: int) -> int:
    """Length of the longest card number that begins here; 0: none."""
    for length in range(min(MAX_LENGTH, len(digits) - first), MIN_LENGTH - 1, -1):
        if is_card_number(digits[first : first + length].encode()):
            return length
    return 0


def _shortest_misheard(before: str) -> int:
    """How many digits are a misheard card number's, after these words."""
    # What stands for a number that was taken out is no word of the speaker's.
    said = before[-_CALLED_WITHIN - len(CARD) :].replace(CARD, "")
    called = _CALLED_CARD.search(said[-_CALLED_WITHIN:])
    return MIN_LENGTH if called else MISHEARD_LENGTH


def _is_misheard(digits: str, shortest: int) -> bool:
    """Whether this was a card number before a recogniser had it, as far as can be said."""
    return len(digits) >= shortest and brand_of(digits.encode()) is not None


def _is_part(digits: str, before: str) -> bool:
    """Whether the speaker says that these belong to a payment card."""
    return (
        len(digits) >= _PART_LENGTH and _PAYMENT_CARD.search(before[-_CALLED_WITHIN:]) is not None
    )


def _is_in_fours(digits: str, run: Sequence[Digits], text: str) -> bool:
    """Whether a number is said like a card's, in fours, though some of its digits were lost."""
    if not MISHEARD_LENGTH <= len(digits) <= MAX_LENGTH:
        return False
    groups: list[int] = []
    end = None
    for said in run:
        alone = len(said.value) == 1
        # digits that are written one by one belong together until a mark or a filler
        if alone and end is not None and not text[end : said.start].strip():
            groups[-1] += 1
        else:
            groups.append(len(said.value))
        end = said.end if alone else None
    return groups.count(4) >= _FOURS


def _code_spans(text: str) -> list[tuple[int, int, str]]:
    spans = []
    for match in _CODE.finditer(text):
        after = text[match.end() : match.end() + _CODE_WITHIN]
        for run in digit_runs(after):
            gone = CODE in after[: run[0].start]
            if not gone and 3 <= sum(len(said.value) for said in run) <= 4:
                spans.append(_shifted(run, match.end()))
            break
    return spans


def _shifted(run: Sequence[Digits], offset: int) -> tuple[int, int, str]:
    return run[0].start + offset, run[-1].end + offset, CODE
