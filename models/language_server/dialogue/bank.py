"""The bank's support line: who is calling, then what their balance did, then goodbye.

Nothing is looked up before the identity check has succeeded; that the tools refuse it as well is no
reason to try.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from language_server.dialogue.answers import FAREWELLS, NOT_A_MODEL, OTHER_PERSONA
from language_server.dialogue.bank_words import (
    MAX_ERROR_CHARS,
    ask,
    explain,
    name_balances,
    read_movements,
)
from language_server.dialogue.conversation import ToolResult
from language_server.dialogue.intents import BANK_INTENTS, Intent
from language_server.dialogue.matcher import bank_matcher
from language_server.dialogue.speech import first_sentence, vary
from language_server.dialogue.state import BankQuestion, CallState, Desk, Movement, Reply
from language_server.dialogue.toolbox import PlannedCall
from language_server.dialogue.understanding import understand
from language_server.slots.birth_dates import find_birth_date
from language_server.slots.digits import find_digits
from language_server.slots.plain_text import plain

NUMBER_DIGITS = 6
"""Digits of a customer number."""

_COURTESIES: dict[Intent, tuple[str, ...]] = {
    Intent.GREETING: ("Hello! How can I help you?", "Hello again. What can I do for you?"),
    Intent.HOW_ARE_YOU: ("Very well, thank you. What can I do for you?", "All is well here."),
    Intent.THANKS: ("You are welcome.",),
    Intent.IDENTITY: (NOT_A_MODEL,),
    Intent.CAPABILITIES: (
        "I can tell you your balance, explain why it changed, and report a payment.",
    ),
    Intent.HOLD_ON: ("Take your time.", "Of course, I will wait."),
    Intent.DONT_KNOW: ("Your customer number is printed on every statement.",),
    Intent.SMALL_TALK: ("I am afraid I only know about accounts.",),
    Intent.ABUSE: ("I am sorry that I am no better help.",),
}
_CLARIFICATIONS = (
    "Sorry, I did not understand that. Could you say it another way?",
    "I am afraid I did not get that. Is it about your balance, or about a payment?",
)
_SILENCES = ("Are you still there?", "I can not hear you. Can you hear me?")


def hear(text: str, state: CallState, desk: Desk) -> Reply:
    """One utterance of the bank's caller: take what it tells, then take the next step."""
    bank = state.bank
    heard = understand(text, desk.now.date(), matcher=bank_matcher())
    if heard.silent:
        return Reply(vary(_SILENCES, state.last_spoken))
    state.turns += 1
    number = find_digits(text, NUMBER_DIGITS)
    birth_date = find_birth_date(text, desk.now.date())
    bank.number, bank.birth_date = number or bank.number, birth_date or bank.birth_date
    words = plain(text)
    bank.account = "savings" if "saving" in words else "current" if "current" in words else None
    wish = next((intent for intent in heard.intents if intent in BANK_INTENTS), None)
    if bank.question is BankQuestion.CONFIRM_TRANSFER and heard.says(Intent.YES, Intent.HUMAN):
        return _transfer(state, desk, "the caller accepted to be handed over")
    if bank.question is BankQuestion.CONFIRM_REPORT and heard.says(Intent.YES, Intent.DISPUTE):
        return _report(state, desk)
    if heard.says(Intent.NO) and wish is None and bank.question is not None:
        return _declined(state, desk)
    if heard.says(Intent.GOODBYE) and wish is None:
        return _farewell(state, desk)
    if heard.says(Intent.HUMAN):
        return _transfer(state, desk, "the caller asked for a person")
    if wish is not None or _mentioned(words, bank.movements):
        bank.wish = wish or Intent.DISPUTE
        bank.target = _mentioned(words, bank.movements)
        return _proceed(state, desk)
    if (number or birth_date) and not bank.verified:
        return _proceed(state, desk)
    return _aside(heard.intents, state)


def go_on(state: CallState, desk: Desk) -> Reply:
    """Speak although the caller has said nothing new: after a hand-over, or an odd request."""
    if state.bank.wish is not None:
        return _proceed(state, desk)
    return ask(state, state.bank.question or BankQuestion.ANYTHING_ELSE)


def tell(results: Sequence[ToolResult], state: CallState, desk: Desk, said_before: bool) -> Reply:
    """Say what tools answered, and take the next step."""
    replies = [_tell(result, state, desk, said_before) for result in results]
    calls = tuple(call for reply in replies for call in reply.calls)
    return Reply(" ".join(reply.text for reply in replies if reply.text), calls[:1])


def _proceed(state: CallState, desk: Desk, before: str = "") -> Reply:
    """The next step of the caller's wish: hand over, identify, look up, confirm."""
    bank, toolbox = state.bank, desk.toolbox
    if not toolbox.offers("verify_identity"):
        call = toolbox.call(toolbox.colleague) if toolbox.colleague else None
        if call is None:
            return ask(state, BankQuestion.ANYTHING_ELSE, vary(OTHER_PERSONA, state.last_spoken))
        return Reply("I put you through to a colleague.", (call,))
    if not bank.verified:
        return _identify(state, desk, before)
    if bank.wish is Intent.DISPUTE and bank.target is not None:
        return ask(state, BankQuestion.CONFIRM_REPORT, f"{before} {bank.target.words}.".strip())
    if bank.wish is Intent.DISPUTE and bank.movements:
        return ask(state, BankQuestion.WHICH_MOVEMENT, before)
    tool = "account_balance" if bank.wish is Intent.BALANCE else "explain_balance"
    call = toolbox.call(tool, account=bank.account)
    if bank.wish is None or call is None:
        return ask(state, BankQuestion.ANYTHING_ELSE, before)
    bank.question = None
    return Reply(before, (call,))


def _identify(state: CallState, desk: Desk, before: str) -> Reply:
    bank = state.bank
    if bank.number is None:
        return ask(state, BankQuestion.NUMBER, before or "I have to know who is calling.")
    if bank.birth_date is None:
        return ask(state, BankQuestion.BIRTH_DATE, before or "Thank you.")
    call = desk.toolbox.call(
        "verify_identity", customer_number=bank.number, date_of_birth=bank.birth_date.isoformat()
    )
    bank.question = None
    return Reply(before, (call,)) if call else _offer_person(state, desk, "I can not check that.")


def _tell(result: ToolResult, state: CallState, desk: Desk, said_before: bool) -> Reply:
    data = result.result
    if result.tool == "end_call":
        return Reply("" if said_before else "Goodbye.")
    if not isinstance(data, Mapping):
        return _offer_person(state, desk, "I am sorry, something went wrong with that.")
    if "error" in data:
        return _failed(result.tool, data, state, desk)
    if result.tool == "verify_identity":
        state.bank.verified = True
        return _proceed(state, desk, "Thank you.")
    if result.tool == "report_transaction":
        state.bank.wish = state.bank.target = None
        told = "It is reported. A colleague examines it and calls you back within two working days."
        return ask(state, BankQuestion.ANYTHING_ELSE, told)
    if result.tool == "transfer_to_human":
        told = "Nobody can be put through right now. A colleague has been asked to call you back."
        return ask(state, BankQuestion.ANYTHING_ELSE, told)
    if result.tool == "account_balance":
        state.bank.wish = None
        return ask(state, BankQuestion.ANYTHING_ELSE, name_balances(data))
    return _tell_movements(data, state, desk)


def _tell_movements(data: Mapping[str, Any], state: CallState, desk: Desk) -> Reply:
    bank = state.bank
    bank.movements = read_movements(data)
    if bank.wish is Intent.DISPUTE and bank.movements:
        return _proceed(state, desk, explain(data, bank.movements))
    bank.wish = None
    return ask(state, BankQuestion.ANYTHING_ELSE, explain(data, bank.movements))


def _failed(tool: str, data: Mapping[str, Any], state: CallState, desk: Desk) -> Reply:
    bank = state.bank
    error = data["error"] if isinstance(data["error"], str) else ""
    if tool == "verify_identity" and "once more" in error:
        bank.number = bank.birth_date = None
        return ask(state, BankQuestion.NUMBER, "I am sorry, these details do not match.")
    bank.wish = None
    if tool == "verify_identity":
        return _offer_person(state, desk, "I am sorry, I can not confirm who you are.")
    why = first_sentence(error, MAX_ERROR_CHARS) or "That did not work."
    return _offer_person(state, desk, f"I am sorry. {why}")


def _report(state: CallState, desk: Desk) -> Reply:
    target = state.bank.target
    call = target and desk.toolbox.call(
        "report_transaction",
        transaction_id=target.id,
        reason="the caller does not recognise it",
    )
    state.bank.question = None
    return Reply(calls=(call,)) if call else _offer_person(state, desk, "I can not report that.")


def _declined(state: CallState, desk: Desk) -> Reply:
    bank = state.bank
    if bank.question is BankQuestion.ANYTHING_ELSE:
        return _farewell(state, desk)
    bank.wish = bank.target = None
    return ask(state, BankQuestion.ANYTHING_ELSE, "All right.")


def _farewell(state: CallState, desk: Desk) -> Reply:
    call = desk.toolbox.call("end_call")
    return Reply(vary(FAREWELLS, state.last_spoken), (call,) if call else ())


def _transfer(state: CallState, desk: Desk, reason: str) -> Reply:
    call: PlannedCall | None = desk.toolbox.call("transfer_to_human", reason=reason)
    if call is None:
        return ask(state, BankQuestion.ANYTHING_ELSE, "I am sorry, nobody can be reached.")
    state.bank.question = None
    return Reply(calls=(call,))


def _offer_person(state: CallState, desk: Desk, before: str) -> Reply:
    if desk.toolbox.offers("transfer_to_human"):
        return ask(state, BankQuestion.CONFIRM_TRANSFER, before)
    return ask(state, BankQuestion.ANYTHING_ELSE, before)


def _aside(intents: Sequence[Intent], state: CallState) -> Reply:
    """A courtesy, or nothing that was understood; then our open question once more."""
    question = state.bank.question
    if Intent.REPEAT in intents:
        return Reply(state.last_spoken or _COURTESIES[Intent.GREETING][0])
    known = next((intent for intent in intents if intent in _COURTESIES), None)
    if known is None and state.turns == 1:
        known = Intent.GREETING
    words = vary(_COURTESIES[known] if known else _CLARIFICATIONS, state.last_spoken)
    if question is None or known in (Intent.GREETING, Intent.HOLD_ON):
        return Reply(words)
    return ask(state, question, words)


def _mentioned(words: str, movements: Sequence[Movement]) -> Movement | None:
    """The transaction whose counterparty is named."""
    for movement in movements:
        name = plain(movement.counterparty)
        if name and name in words:
            return movement
    return None
