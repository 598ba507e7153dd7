"""What the system prompt says about the practice.

Either in lines such as `Address: 1 Main Street`, or in the items of a list under `Facts:`.
"""

import re

from language_server.dialogue.intents import Intent
from language_server.dialogue.speech import sentence

MAX_FACT_CHARS = 300
"""Longest value that is spoken, characters."""

_KEYS = {
    Intent.ADDRESS: r"(?:street )?address|location|directions",
    Intent.PARKING: r"parking",
    Intent.INSURANCE: r"insurances?|insurance plans?|coverage",
    Intent.PRICE: r"prices?|costs?|fees?|payment",
    Intent.PHONE: r"(?:tele)?phone(?: number)?|e-?mail|contact",
    Intent.STAFF: r"dentists?|doctors?|team|staff",
    Intent.OPENING_HOURS: r"(?:opening |office |business )?hours|opening times",
}
_LINES = {
    intent: re.compile(rf"^[\s>*#-]*(?:{keys})[\s*]*:[\s*]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
    for intent, keys in _KEYS.items()
}
_TOPICS = {
    Intent.ADDRESS: r"practice is (?:at|in|on)|address|located|street|lane|avenue|road|square",
    Intent.PARKING: r"parking|car park|park",
    Intent.INSURANCE: r"insurance|insured|insurers?",
    Intent.PRICE: r"costs?|prices?|fees?|charged?|dollars?|euros?|pounds?|pay(?:ment)?",
    Intent.PHONE: r"phone|telephone|e-?mail",
    Intent.STAFF: r"dentists? (?:is|are)|doctors?|dr\.?",
    Intent.OPENING_HOURS: r"opening hours|is open",
}
_ABOUT = {
    intent: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for intent, words in _TOPICS.items()
}
_FACT_LIST = re.compile(r"^\s*Facts:\s*\n((?:\s*[-*] .*(?:\n|$))+)", re.MULTILINE)
_MARKUP = re.compile(r"[*_`#<>|{}\[\]]+")


def find_fact(system_prompt: str, intent: Intent) -> str | None:
    """The prompt's answer to such a question as a speakable sentence, or None."""
    if intent not in _LINES:
        return None
    if match := _LINES[intent].search(system_prompt):
        return _speakable(match.group(1))
    for facts in _FACT_LIST.findall(system_prompt):
        for line in facts.splitlines():
            if _ABOUT[intent].search(line):
                return _speakable(line.strip().lstrip("-* "))
    return None


def _speakable(fact: str) -> str | None:
    fact = " ".join(_MARKUP.sub(" ", fact).split())[:MAX_FACT_CHARS].rstrip()
    return sentence(fact) if fact else None
