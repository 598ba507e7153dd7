"""Why somebody sees a dentist, in the words the appointment book uses."""

import re

from language_server.slots.plain_text import plain

_REASONS = (
    ("check-up", r"check ?ups?|checked up|check my teeth|examination|exam|regular visit|routine"),
    ("cleaning", r"clean(?:ing|ed)?|hygien(?:e|ist)|polish(?:ing)?"),
    (
        "toothache",
        r"tooth ?aches?|tooth ?(?:hurts|pain)|teeth hurt|(?:tooth|teeth|jaw|dental) (?:is |are )?"
        r"(?:hurting|sore|painful|aching)|pain",
    ),
    ("wisdom tooth", r"wisdom (?:tooth|teeth)"),
    (
        "broken tooth",
        r"(?:broken|chipped|cracked) (?:tooth|teeth)|(?:broke|chipped) (?:a|my) tooth",
    ),
    ("filling", r"fillings?|cavity|cavities"),
    ("root canal", r"root canal"),
    ("crown", r"crowns?"),
    ("implant", r"implants?"),
    ("braces", r"braces|aligners?"),
    ("whitening", r"whiten(?:ing|ed)?|bleaching"),
    ("extraction", r"extraction|tooth (?:pulled|removed|out)"),
    ("consultation", r"consultation|second opinion"),
)
_PATTERNS = tuple((reason, re.compile(rf"\b(?:{pattern})\b")) for reason, pattern in _REASONS)


def find_reason(text: str) -> str | None:
    """The first reason for a visit that the sentence names, or None."""
    words = plain(text)
    return next((reason for reason, pattern in _PATTERNS if pattern.search(words)), None)
