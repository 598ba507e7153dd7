"""English forms with numbers, and abbreviations, in words: for engines that do not read digits.

A language model that speaks reads "$3.50" or "12/24" as it likes, and not always the same.
"""

import re
from typing import Final
from unicodedata import normalize

from speech_server.tts.phone_numbers import say_phone_numbers
from speech_server.tts.spoken_abbreviations import ABBREVIATIONS, PERIODS, UNITS
from speech_server.tts.spoken_forms import (
    INNER_BLANK,
    MONTHS,
    Rule,
    date_words,
    instead,
    one_each,
    one_word,
    rewrite,
)
from speech_server.tts.spoken_numbers import CURRENCIES, decade, digits, money, number, ordinal

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
_AMOUNT = rf"(?:{_NUMBER}|\.\d+)"
_SIGN = f"[{''.join(CURRENCIES)}]"
_MAGNITUDES: Final = {"k": "thousand", "m": "million", "bn": "billion", "b": "billion"}
_MAGNITUDE = rf"(?P<magnitude>(?:{'|'.join(_MAGNITUDES)})\b| (?:thousand|[mbtr]+illion)\b)?"
_MONTH_NAMES: Final = {short: month for month in MONTHS for short in (month, month[:3])} | {
    "Sept": "September"
}
_MONTH = rf"({'|'.join(_MONTH_NAMES)})\b(?:\.(?= ))?"
_DAY = r"([12]?\d|3[01])(?:st|nd|rd|th)?(?![\w:/]|[.,]\d)"
_FRACTIONS: Final = {
    "1/2": "one half", "1/3": "one third", "2/3": "two thirds", "1/4": "one quarter",
    "3/4": "three quarters", "1/8": "one eighth", "3/8": "three eighths", "5/8": "five eighths",
    "7/8": "seven eighths",
}  # fmt: skip


def put_numbers_in_words(text: str, region: str = "US") -> str:
    """Put everything with a digit into words, and what is abbreviated.

    Args:
        text: words divided by single blanks, `FORMS` applied.
        region: ISO 3166 code of the country whose telephone numbers need no "+".

    Returns:
        As many words divided by single blanks, without a decimal digit.
    """
    return rewrite(say_phone_numbers(text, region), _RULES)


def _say_date(found: re.Match[str]) -> str:
    month, day = int(found[1]), int(found[3])
    if found[2] == "." or month > 12:  # Americans write the month first, with a stroke
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return found[0]
    return date_words(month, day, found[4])


def _say_month_and_day(found: re.Match[str]) -> str:
    first, last = (one_word(ordinal(int(day))) if day else "" for day in (found[2], found[3]))
    days = one_word(f"{first} to {last}") if last else first
    return f"{_MONTH_NAMES[found[1]]} {days}"


def _say_day_and_month(found: re.Match[str]) -> str:
    return f"{one_word(ordinal(int(found[1])) + ' of')} {_MONTH_NAMES[found[2]]}"


def _say_money(found: re.Match[str]) -> str:
    magnitude = (found["magnitude"] or "").strip().lower()
    said = money(found["amount"], found["sign"], _MAGNITUDES.get(magnitude, magnitude))
    return one_each(said, found[0])


def _say_money_range(found: re.Match[str]) -> str:
    return f"{one_word(number(found[2]))}{INNER_BLANK}to{INNER_BLANK}{found[1]}"


def _say_rate(found: re.Match[str]) -> str:
    return f"{INNER_BLANK}per{INNER_BLANK}{PERIODS[found[1]]}"


def _say_hyphenated(found: re.Match[str]) -> str:
    """A range, "10-12", or the groups of a code, "555-0123"."""
    parts = found[0].split("-")
    local_phone_number = tuple(map(len, parts)) == (3, 4)
    code = any(len(part) > 1 and part.startswith("0") for part in parts)
    if len(parts) > 2 or local_phone_number or code:
        return one_word(", ".join(map(digits, parts)))
    between = " " if parts[0] == parts[1] else " to "  # "50-50"
    return one_word(between.join(map(number, parts)))


def _say_fraction(found: re.Match[str]) -> str:
    said = _FRACTIONS.get(found[0])
    if said is None:
        between = " out of " if "." in found[1] else " "  # "4.5/5" and "24/7"
        return one_word(number(found[1]) + between + number(found[2]))
    mixed = re.search(r"\d $", found.string[: found.start()])  # "1 1/2"
    return one_word(f"and {said}" if mixed else said)


def _say_version(found: re.Match[str]) -> str:
    version = "version " if found[1] else ""
    return one_word(version + " point ".join(map(number, found[2].split("."))))


def _say_unit(found: re.Match[str]) -> str:
    one, several = UNITS[found[3]]
    return f"{found[1]}{found[2] or INNER_BLANK}{one_word(one if found[1] == '1' else several)}"


def _say_number(found: re.Match[str]) -> str:
    """Whatever number is left; the digits behind a letter are a code from three on: "BA249"."""
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    code = before.isalpha() and len(found[0]) > 2 and found[0].isdecimal()
    said = one_word(digits(found[0]) if code else number(found[0]))
    return (
        (INNER_BLANK if before.isalnum() else "") + said + (INNER_BLANK if after.isalnum() else "")
    )


_RULES: Final[tuple[Rule, ...]] = (
    *ABBREVIATIONS,
    # Dates.
    (re.compile(r"(?<![\w/.-])(\d{1,2})(/)(\d{1,2})/(\d{4}|\d\d)(?![\w/])"), _say_date),
    (re.compile(r"(?<![\w/.-])(\d{1,2})(\.)(\d{1,2})\.(\d{4})(?![\w.])"), _say_date),
    (re.compile(rf"\b{_MONTH} {_DAY}(?:-{_DAY})?"), _say_month_and_day),
    (re.compile(rf"(?<![\w.,:/-]){_DAY} {_MONTH}"), _say_day_and_month),
    (re.compile(rf"\b{_MONTH}(?= \d{{4}}\b)"), lambda found: _MONTH_NAMES[found[1]]),
    # Signs, and money.
    (re.compile(r"(?<=\d) - (?=[\d.,]+ =)"), lambda _: " minus "),
    (re.compile(r"(?<=\d) - (?=\d)"), lambda _: " to "),
    instead(rf"(?<![^\s(])-(?={_SIGN}?\.?\d)", "minus "),
    instead(r"(?<!\S)#(?=\d)", "number "),
    instead(r"(?<!\S)~(?=\d)", "about "),
    (re.compile(rf"(?<=\d)/({'|'.join(PERIODS)})\b"), _say_rate),
    (re.compile(rf"({_SIGN})({_AMOUNT})-{_SIGN}?(?={_AMOUNT})"), _say_money_range),
    (
        re.compile(rf"(?P<sign>{_SIGN}) ?(?P<amount>{_AMOUNT}){_MAGNITUDE}", re.IGNORECASE),
        _say_money,
    ),
    (re.compile(rf"(?P<amount>{_AMOUNT})(?P<magnitude>) ?(?P<sign>[€£₹])"), _say_money),
    (re.compile(r"(?<=\d)( ?)¢"), lambda found: f"{found[1] or INNER_BLANK}cents"),
    (re.compile(r"(?<=\d)( ?)%"), lambda found: f"{found[1] or INNER_BLANK}percent"),
    instead(r"(?<![^\s\d])\+(?![^\s\d])", " plus "),
    instead(r"(?<![^\s\d])=(?![^\s\d])", " equals "),
    instead(r"(?<![^\s\d])\u00d7(?![^\s\d])", " times "),
    instead(r"(?<![^\s\d])÷(?![^\s\d])", " divided by "),
    # Numbers that something belongs to.
    (
        re.compile(rf"(?<![\w.,])({_NUMBER})( ?)({'|'.join(UNITS)})(?![\w/])(?:\.(?= [a-z]))?"),
        _say_unit,
    ),
    instead("²", " squared"),
    instead("³", " cubed"),
    (
        re.compile(r"\b(\d{1,3}(?:,\d{3}){1,3}|\d{1,9})(?:st|nd|rd|th)\b"),
        lambda found: one_word(ordinal(int(found[1].replace(",", "")))),
    ),
    (
        re.compile(r"(?<!\w)'?((?:\d\d)?\d0)s\b"),
        lambda found: one_word(decade(int(found[1]))),
    ),
    (
        re.compile("[¼½¾⅓⅔⅛⅜⅝⅞₀-₉①-⑳]"),
        lambda found: normalize("NFKC", found[0]).replace("\u2044", "/"),
    ),
    (re.compile(r"(?<![\w/.,])(\d+(?:\.\d+)?)/(\d+)(?![\w/])"), _say_fraction),
    (re.compile(r"\b([vV])\.?(\d+(?:\.\d+)*)\b"), _say_version),
    (re.compile(r"(?<![\w.,])()(\d+(?:\.\d+){2,})\b"), _say_version),
    (re.compile(rf"(?<![\w.,/-]){_NUMBER}(?:-{_NUMBER})+(?![\d-])"), _say_hyphenated),
    instead(r"(?<=\d):(?=\d\b)", " to "),
    instead(r"(?<=\d)[/:](?=\d)", " "),
    (re.compile(_AMOUNT), _say_number),
)
"""In this order: what is left of a number is said by the last."""
