"""Telephone numbers in words. What is one, and how it is grouped, is known to phonenumbers."""

import re
from typing import Final

from phonenumbers import (
    SUPPORTED_REGIONS,
    Leniency,
    PhoneNumberFormat,
    PhoneNumberMatch,
    PhoneNumberMatcher,
    format_number,
    is_emergency_number,
)

from speech_server.tts.spoken_forms import one_word
from speech_server.tts.spoken_numbers import digits

_DEFAULT_REGION: Final = "US"
_DIAL = re.compile(r"\b((?:call|dial|phone|ring|text) )(\d{3})\b", re.IGNORECASE)


def say_phone_numbers(text: str, region: str) -> str:
    """Put telephone numbers into words, digit by digit, with a comma between their groups.

    Args:
        text: words divided by single blanks.
        region: ISO 3166 code of the country whose numbers need no "+"; an unknown one is taken as
            the United States.

    Returns:
        As many words divided by single blanks.
    """
    region = region if region in SUPPORTED_REGIONS else _DEFAULT_REGION
    # Strict, because "1 2 3 4 5 6 7 8 9 10" would be a number too; "+" says that it is one.
    text = _say_matches(text, region, Leniency.STRICT_GROUPING, "")
    if "+" in text:
        text = _say_matches(text, region, Leniency.POSSIBLE, "+")

    def say_emergency(found: re.Match[str]) -> str:
        emergency = is_emergency_number(found[2], region)
        return found[1] + (one_word(digits(found[2])) if emergency else found[2])

    return _DIAL.sub(say_emergency, text)


def _say_matches(text: str, region: str, leniency: int, prefix: str) -> str:
    parts: list[str] = []
    end = 0
    for match in PhoneNumberMatcher(text, region, leniency=leniency):
        if match.raw_string.startswith(prefix):
            parts += [text[end : match.start], _say(match)]
            end = match.end
    return "".join([*parts, text[end:]])


def _say(match: PhoneNumberMatch) -> str:
    written = match.raw_string
    if written.removeprefix("+").isdecimal():
        national = PhoneNumberFormat.NATIONAL
        style = PhoneNumberFormat.INTERNATIONAL if written.startswith("+") else national
        written = format_number(match.number, style).replace(" ", "-")
    said = " ".join(map(_say_groups, written.split(" ")))
    return re.sub(r"(?<=\w) ", ", ", said)


def _say_groups(word: str) -> str:
    """Say one blank-delimited part of a number: "(415)", "555-0123", "+1", "ext.", "x42"."""
    groups = ", ".join(digits(group) for group in re.findall(r"\d+", word))
    extension = "extension " if re.search("[A-Za-z]", word) else ""
    plus = "plus " if "+" in word else ""
    return one_word(f"{extension}{plus}{groups}")
