"""Tools of telephone calls: press keys, take a card by keys, call nobody who does not want it."""

from typing import Annotated, Final

from livekit.agents import RunContext
from livekit.rtc.participant import PublishDTMFError
from pydantic import BeforeValidator, WithJsonSchema

from voice_agent.scopes import Scope
from voice_agent.telephony.card_capture import WHOLE_S, CaptureFailed
from voice_agent.telephony.key_sender import GAP_S, MAX_SENT, PAUSE_S, checked_keys
from voice_agent.tools.definition import (
    Arguments,
    PhoneLine,
    Result,
    Tool,
    ToolContext,
    ToolRefusal,
)

NO_TELEPHONE: Final = "The caller is not on a telephone, so this cannot be done."
SPOKE_AGAIN: Final = "The caller has begun to speak again; listen first."

_NO_CARD: Final = {
    "stopped": "The caller does not want to enter a card now. Ask how else you can help.",
    "mistakes": "The card was not entered correctly. Offer a colleague.",
    "too slow": "The card was not entered in time. Offer to try again, or a colleague.",
    "refused": "Cards cannot be taken at the moment. Offer a colleague.",
    "not alone": "Somebody else is on the line, so no card may be taken now.",
}


def _keys(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be the keys as text")
    return checked_keys(value)


class _PressKeys(Arguments):
    keys: Annotated[
        str,
        BeforeValidator(_keys),
        WithJsonSchema(
            {"type": "string", "maxLength": MAX_SENT, "description": "0-9, *, #; w waits 0.5 s"}
        ),
    ]


class _TakeCard(Arguments):
    pass


class _DoNotCall(Arguments):
    pass


def phone_of(context: ToolContext) -> PhoneLine:
    """The call's telephone.

    Raises:
        ToolRefusal: there is none.
    """
    if context.phone is None:
        raise ToolRefusal(NO_TELEPHONE)
    return context.phone


def keep_the_floor(run_context: RunContext) -> None:
    """Let nothing interrupt this turn any more.

    Raises:
        ToolRefusal: the caller has done so already.
    """
    try:
        run_context.disallow_interruptions()
    except RuntimeError:
        raise ToolRefusal(SPOKE_AGAIN) from None


async def _press_keys(arguments: _PressKeys, context: ToolContext, _: RunContext) -> Result:
    try:
        await phone_of(context).press(arguments.keys)
    except PublishDTMFError:
        raise ToolRefusal("The keys could not be sent; say what you need instead.") from None
    return {"status": "pressed"}


async def _do_not_call(_: _DoNotCall, context: ToolContext, __: RunContext) -> Result:
    await phone_of(context).refuse_calls()
    return {"status": "noted", "message": "Say that they will not be called again, and goodbye."}


async def _take_card(_: _TakeCard, context: ToolContext, run_context: RunContext) -> Result:
    phone = phone_of(context)
    if not phone.takes_cards:
        raise ToolRefusal(_NO_CARD["refused"])
    keep_the_floor(run_context)
    # silence here is a caller who looks at a card
    context.record.filled_turns.add(run_context.speech_handle.id)
    await run_context.wait_for_playout()
    try:
        card = await phone.take_card(run_context.session, context.clock().date())
    except CaptureFailed as failure:
        raise ToolRefusal(_NO_CARD[failure.reason]) from None
    return {
        "status": "stored",
        "card_token": card.token,
        "brand": card.brand,
        "last_four": card.last_four,
    }


TELEPHONE_TOOLS = (
    Tool(
        "press_keys",
        "Press keys on the telephone, for example to answer the menu of a machine on the line.",
        _PressKeys,
        _press_keys,
        needs=frozenset({Scope.CALL_CONTROL}),
        writes=True,
        timeout_s=MAX_SENT * max(GAP_S, PAUSE_S) + 2.0,
    ),
    Tool(
        "do_not_call",
        "Note that the person does not want to be called again.",
        _DoNotCall,
        _do_not_call,
        needs=frozenset({Scope.CALL_CONTROL}),
        writes=True,
    ),
    Tool(
        "take_card",
        "Have the caller enter a payment card on the keypad. You never see or hear its number; ask "
        "for no card number yourself. Use when the caller wants to pay and has said so.",
        _TakeCard,
        _take_card,
        needs=frozenset({Scope.CARD_TAKE}),
        writes=True,
        timeout_s=WHOLE_S + 10.0,
    ),
)
"""In the order in which a model sees them."""
