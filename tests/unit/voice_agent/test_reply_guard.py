import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from livekit.agents import llm

from voice_agent.reply_guard import (
    MAX_REPLY_CHARACTERS,
    SENTENCE_GRACE_CHARACTERS,
    guard_reply,
)


def chunk(text: str | None, **delta: object) -> llm.ChatChunk:
    return llm.ChatChunk(id="1", delta=llm.ChoiceDelta(role="assistant", content=text, **delta))


async def stream(*pieces: str) -> AsyncIterator[llm.ChatChunk | str]:
    for piece in pieces:
        yield chunk(piece)


async def said(*pieces: str) -> str:
    words = []
    async for part in guard_reply(stream(*pieces)):
        words.append(part if isinstance(part, str) else (part.delta and part.delta.content) or "")
    return "".join(words)


@pytest.mark.parametrize(
    ("pieces", "heard"),
    [
        (["Good ", "day."], "Good day."),
        (["Two < three, [x] and <b>."], "Two < three, [x] and <b>."),
        (["<|im_start|>Hello<|im_end|>"], "Hello"),
        (["Hel", "lo.<|", "im_", "end|>"], "Hello."),
        (["Yes</s><s>"], "Yes"),
        (["It costs 5 <"], "It costs 5 <"),
        (["\x00\x1b[2JHi\ufffd\u202e there"], "[2JHi there"),
        (["नमस्\u200dते"], "नमस्\u200dते"),
        (["¡", "Hola!"], "¡Hola!"),
        (["", " ", "...", "!!! \u200b"], ""),
        (["<|endoftext|>", "\x00" * 1000], ""),
        ([], ""),
    ],
)
async def test_what_cannot_be_said_is_dropped(pieces: list[str], heard: str) -> None:
    assert await said(*pieces) == heard


async def test_a_long_reply_ends_with_a_sentence() -> None:
    sentence = "This is a sentence of the reply. "
    heard = await said(*[sentence] * 1000)
    assert MAX_REPLY_CHARACTERS <= len(heard) <= MAX_REPLY_CHARACTERS + len(sentence)
    assert heard.endswith("reply.")


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_a_reply_without_sentences_is_cut_all_the_same(size: int) -> None:
    heard = await said(*["x" * size] * (200_000 // size))
    assert len(heard) <= MAX_REPLY_CHARACTERS + SENTENCE_GRACE_CHARACTERS


async def test_an_endless_stream_is_left() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[llm.ChatChunk | str]:
        try:
            while True:
                yield "word "
        finally:
            closed.set()

    assert [part async for part in guard_reply(endless())]
    assert closed.is_set()


async def test_tool_calls_and_usage_pass() -> None:
    call = llm.FunctionToolCall(name="end_call", arguments="{}", call_id="1")
    usage = llm.ChatChunk(
        id="1", usage=llm.CompletionUsage(completion_tokens=1, prompt_tokens=1, total_tokens=2)
    )

    async def chunks() -> AsyncIterator[llm.ChatChunk | str]:
        yield chunk("Goodbye.", tool_calls=[call])
        yield usage

    first, second = [part async for part in guard_reply(chunks())]
    assert isinstance(first, llm.ChatChunk)
    assert first.delta is not None
    assert first.delta.tool_calls == [call]
    assert second is usage


@given(st.lists(st.text(max_size=50), max_size=50))
async def test_any_text_comes_out_bounded_and_printable(pieces: list[str]) -> None:
    heard = await said(*pieces)
    assert len(heard) <= MAX_REPLY_CHARACTERS + SENTENCE_GRACE_CHARACTERS
    assert heard == "" or any(map(str.isalnum, heard))
    assert "\x00" not in heard
