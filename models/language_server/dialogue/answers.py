"""Answers that need no tool: courtesies, questions about the practice and about the script."""

from language_server.dialogue.facts import find_fact
from language_server.dialogue.intents import Intent
from language_server.dialogue.speech import join, vary
from language_server.dialogue.state import CallState, Desk, Question, Reply
from language_server.dialogue.tasks import actions, ask, ask_on

FAREWELLS = ("Thank you for calling. Goodbye!", "Goodbye, and have a nice day!")
NOT_A_MODEL = (
    "I am an automated assistant, and not even a language model: I am a script that knows a few "
    "phrases."
)
OTHER_PERSONA = (
    "I am only a script for the demo of a dental front desk. To give this assistant a mind, "
    "set PARLEY_LLM_URL to a language model.",
    "There is no language model behind me, only a script that plays a dental front desk. "
    "The setting PARLEY_LLM_URL connects a model.",
    "I can not help with that, because I am a demo script. Please connect a language model with "
    "the setting PARLEY_LLM_URL.",
)

_FACT_INTENTS = frozenset(
    {Intent.ADDRESS, Intent.PARKING, Intent.INSURANCE, Intent.PRICE, Intent.PHONE, Intent.STAFF,
     Intent.OPENING_HOURS}
)  # fmt: skip
_CLARIFICATIONS = (
    "Sorry, I did not understand that. Could you say it another way?",
    "I am afraid I did not get that. Do you want to book, look up or cancel an appointment?",
    "Sorry, I still do not follow. You can ask for our opening hours, or for an appointment.",
)
_SILENCES = (
    "Are you still there?",
    "I can not hear you. Can you hear me?",
    "Hello? I am still listening.",
)
_WORDS: dict[Intent, tuple[str, ...]] = {
    Intent.GREETING: ("Hello! How can I help you?", "Hello again. What can I do for you?"),
    Intent.HOW_ARE_YOU: (
        "Very well, thank you. How can I help you?",
        "All is well here. What can I do for you?",
    ),
    Intent.HOLD_ON: ("Take your time.", "Of course, I will wait."),
    Intent.DONT_KNOW: (
        "That is fine. Just tell me a day and a time, for example Tuesday at ten.",
        "No problem. You could name a day, and I look for free times.",
    ),
    Intent.SMALL_TALK: (
        "I am afraid I only know about appointments. What can I do for you?",
        "That is beyond me, I am only a script. Can I help you with an appointment?",
    ),
}


def answer(intent: Intent, state: CallState, desk: Desk) -> Reply:
    """Answer one intent that needs no tool."""
    if intent in _FACT_INTENTS:
        return _tell_fact(intent, state, desk)
    if intent is Intent.THANKS:
        return ask_on(state, "You are welcome.")
    if intent is Intent.IDENTITY:
        return ask_on(state, NOT_A_MODEL)
    if intent is Intent.CAPABILITIES:
        return _tell_capabilities(state, desk)
    if intent is Intent.ABUSE:
        return offer_person(state, desk, "I am sorry that I am no better help.")
    return Reply(vary(_WORDS[intent], state.last_spoken))


def farewell(state: CallState, desk: Desk) -> Reply:
    """Say goodbye, then hang up where that is possible. The words come first, to be heard."""
    state.finish_task()
    call = desk.toolbox.call("end_call")
    return Reply(vary(FAREWELLS, state.last_spoken), (call,) if call else ())


def clarify(state: CallState, desk: Desk) -> Reply:
    """Nothing was understood: ask again in other words; in the end offer a person."""
    state.misses += 1
    if state.misses > 2 and desk.toolbox.offers("transfer_to_human"):
        return ask(state, Question.CONFIRM_TRANSFER, "I am sorry, we do not understand each other.")
    if state.question is not None:
        return ask(state, state.question, "Sorry, I did not understand that.")
    return Reply(vary(_CLARIFICATIONS, state.last_spoken))


def after_silence(state: CallState) -> Reply:
    """Nothing was said at all."""
    return Reply(vary(_SILENCES, state.last_spoken))


def another_persona(heard: tuple[Intent, ...], state: CallState, desk: Desk) -> Reply:
    """The request is for a persona that the script does not know."""
    if Intent.GOODBYE in heard:
        return farewell(state, desk)
    return Reply(vary(OTHER_PERSONA, state.last_spoken))


def offer_person(state: CallState, desk: Desk, before: str) -> Reply:
    """Offer a colleague where one can be had."""
    if desk.toolbox.offers("transfer_to_human"):
        return ask(state, Question.CONFIRM_TRANSFER, before)
    return ask(state, Question.ANYTHING_ELSE, before)


def _tell_fact(intent: Intent, state: CallState, desk: Desk) -> Reply:
    fact = find_fact(desk.system_prompt, intent)
    if fact is not None:
        return Reply(fact)
    return offer_person(state, desk, "I am sorry, I do not know that.")


def _tell_capabilities(state: CallState, desk: Desk) -> Reply:
    abilities = actions(desk)
    if not abilities:
        return Reply(vary(OTHER_PERSONA, state.last_spoken))
    return ask_on(state, f"I can {join(abilities, 'or')}.")
