"""What the bank's script says: its questions, and tool results put into words.

Who a payment went to was written by others. It is said as a name, when it looks like one.
"""

from collections.abc import Mapping
from typing import Any

from language_server.dialogue.speech import first_sentence, join, sentence, vary
from language_server.dialogue.state import BankQuestion, CallState, Movement, Reply

MAX_ERROR_CHARS = 160
"""Longest error of a tool that is said aloud, characters."""
MAX_WORDS_CHARS = 60
"""Longest amount, day or name of a result that is said aloud, characters."""
MAX_ITEMS = 10
"""Most accounts or movements of one result that are looked at."""

_ASKING = {
    BankQuestion.NUMBER: (
        "What is your customer number, please?",
        "May I have your customer number?",
        "Could you tell me the six digits of your customer number?",
    ),
    BankQuestion.BIRTH_DATE: (
        "And what is your date of birth?",
        "When were you born?",
        "May I have your date of birth, with the year?",
    ),
    BankQuestion.WHICH_MOVEMENT: ("Which payment do you mean?", "Which of them is it?"),
    BankQuestion.CONFIRM_REPORT: ("Shall I report it?", "Do you want me to report it, yes or no?"),
    BankQuestion.CONFIRM_TRANSFER: (
        "Shall I hand you over to a colleague?",
        "Would you like to speak to a colleague?",
    ),
    BankQuestion.ANYTHING_ELSE: (
        "Can I do anything else for you?",
        "Is there anything else?",
        "What else can I do for you?",
    ),
}


def ask(state: CallState, question: BankQuestion, before: str = "") -> Reply:
    """Ask a question, after some words where there are any, and remember that it was asked."""
    state.bank.question = question
    return Reply(f"{before} {vary(_ASKING[question], state.last_spoken)}".strip())


def name_balances(data: Mapping[str, Any]) -> str:
    """The balances of a result."""
    told = []
    for item in _items(data.get("accounts")):
        kind, balance = _words(item, "account"), _words(item, "spoken_balance")
        if kind and balance:
            told.append(f"{balance} on your {kind} account")
    return sentence(f"You have {join(told)}") if told else "I find no account of yours."


def read_movements(data: Mapping[str, Any]) -> tuple[Movement, ...]:
    """The movements of a result that can be said."""
    movements = []
    for item in _items(data.get("movements")):
        amount, day = _words(item, "spoken_amount"), _words(item, "spoken_day")
        who, key = _words(item, "counterparty"), item.get("transaction_id")
        if amount and day and isinstance(key, str):
            way = "from" if item.get("direction") == "in" else "to"
            words = f"{amount} {way} {who or 'somebody'} on {day}"
            movements.append(Movement(key[:64], words, who))
    return tuple(movements)


def explain(data: Mapping[str, Any], movements: tuple[Movement, ...]) -> str:
    """Why the balance changed, in two sentences."""
    before, after = _words(data, "spoken_before"), _words(data, "spoken_balance")
    since, kind = _words(data, "spoken_since"), _words(data, "account") or "current"
    if not (before and after and since):
        return "I am sorry, I can not read your account at the moment."
    change = sentence(f"Your {kind} account went from {before} to {after} since {since}")
    if not movements:
        return f"{change} Nothing else moved."
    return f"{change} {sentence(f'There were {join([item.words for item in movements])}')}"


def _items(value: object) -> list[Mapping[str, Any]]:
    listed = value[:MAX_ITEMS] if isinstance(value, list) else []
    return [item for item in listed if isinstance(item, Mapping)]


def _words(data: Mapping[str, Any], field: str) -> str:
    """A field that can be said aloud, else nothing."""
    value = data.get(field)
    if not isinstance(value, str):
        return ""
    return (first_sentence(value, MAX_WORDS_CHARS) or "").removesuffix(".")
