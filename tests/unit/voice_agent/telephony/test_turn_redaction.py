from livekit.agents import llm

from voice_agent.telephony.redaction import CARD
from voice_agent.telephony.turn_redaction import redact_turn


def conversation(*said: tuple[str, str]) -> tuple[llm.ChatContext, llm.ChatMessage]:
    context = llm.ChatContext.empty()
    for role, text in said:
        context.add_message(role=role, content=text)  # type: ignore[arg-type]
    message = context.items.pop()
    assert isinstance(message, llm.ChatMessage)
    return context, message


def texts(context: llm.ChatContext) -> list[str | None]:
    return [item.text_content for item in context.items if isinstance(item, llm.ChatMessage)]


def test_a_number_in_one_turn() -> None:
    context, message = conversation(("user", "It is 4111 1111 1111 1111."))
    redact_turn(context, message)
    assert message.text_content == f"It is {CARD}."


def test_a_number_in_two_turns_with_ours_between_them() -> None:
    context, message = conversation(
        ("user", "four one one one one one one one"),
        ("assistant", "Go on."),
        ("user", "one one one one one one one one"),
    )
    redact_turn(context, message)
    assert texts(context) == [CARD, "Go on."]
    assert message.text_content == CARD


def test_what_is_no_card_is_left_as_it_is() -> None:
    context, message = conversation(("user", "Hello"), ("user", "My number is 400123."))
    before = message.content
    redact_turn(context, message)
    assert message.content is before
    assert texts(context) == ["Hello"]


def test_a_number_that_was_misheard() -> None:
    context, message = conversation(("user", "It is 4111 1111 1111 1112."))
    redact_turn(context, message)
    assert message.text_content == f"It is {CARD}."


def test_two_numbers_in_two_turns_stay() -> None:
    context, message = conversation(
        ("user", "keys: 41000000000001"), ("user", "400123"), ("user", "020 7946 0000")
    )
    redact_turn(context, message)
    assert texts(context) == ["keys: 41000000000001", "400123"]
    assert message.text_content == "020 7946 0000"
