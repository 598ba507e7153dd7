import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from livekit import rtc
from livekit.agents.types import TOPIC_CHAT

from tests.unit.voice_agent.stub_call import StubRoom
from voice_agent.typed_text import MAX_MESSAGES, MAX_TYPED_CHARACTERS, TypedText


class Reader:
    """A text stream; `None` among its chunks means that it never goes on."""

    def __init__(self, *chunks: str | Exception | None) -> None:
        self._chunks = chunks
        self.read = 0
        self.closed = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[str]:
        for chunk in self._chunks:
            if chunk is None:
                await asyncio.Event().wait()
            if isinstance(chunk, Exception):
                raise chunk
            assert chunk is not None
            self.read += 1
            yield chunk

    def close(self) -> None:
        self.closed.set()


class Inbox:
    def __init__(self) -> None:
        self.room = StubRoom()
        self.texts: list[str] = []
        self.typed = TypedText(self.room, self._take)  # type: ignore[arg-type]
        self.typed.open()

    async def _take(self, text: str) -> None:
        self.texts.append(text)

    async def get(self, reader: Reader, sender: str = "caller") -> None:
        self.room.handlers[TOPIC_CHAT](reader, sender)
        await asyncio.wait_for(reader.closed.wait(), 5)
        await asyncio.gather(*self.typed._tasks)


@pytest.fixture
async def inbox() -> Any:
    inbox = Inbox()
    yield inbox
    await inbox.typed.close()


async def test_a_message_in_pieces_is_one_message(inbox: Inbox) -> None:
    await inbox.get(Reader("What are ", "your\n\n  hours", "?"))
    assert inbox.texts == ["What are your hours?"]


async def test_an_endless_message_is_not_read_to_its_end(inbox: Inbox) -> None:
    reader = Reader(*["x" * 100] * 1000)
    await inbox.get(reader)
    assert inbox.texts == []
    assert reader.read == MAX_TYPED_CHARACTERS // 100 + 1


@pytest.mark.parametrize("chunks", [(), ("",), ("  \n ",)])
async def test_an_empty_message_is_no_message(inbox: Inbox, chunks: tuple[str, ...]) -> None:
    await inbox.get(Reader(*chunks))
    assert inbox.texts == []


async def test_a_message_cut_off_is_lost_and_the_next_one_is_not(inbox: Inbox) -> None:
    await inbox.get(Reader("half a", rtc.StreamError("gone")))
    await inbox.get(Reader("Hello?"))
    assert inbox.texts == ["Hello?"]


async def test_a_flood_is_refused_unread(inbox: Inbox) -> None:
    readers = [Reader("again") for _ in range(MAX_MESSAGES + 5)]
    for reader in readers:
        await inbox.get(reader)
    assert len(inbox.texts) == MAX_MESSAGES
    assert [reader.read for reader in readers[MAX_MESSAGES:]] == [0] * 5


async def test_a_stranger_is_not_listened_to(inbox: Inbox) -> None:
    await inbox.get(Reader("let me in"), sender="stranger")
    assert inbox.texts == []


async def test_a_message_that_never_ends_is_let_go_of_with_the_call() -> None:
    inbox = Inbox()
    reader = Reader("wait", None)
    inbox.room.handlers[TOPIC_CHAT](reader, "caller")
    await asyncio.sleep(0)
    await asyncio.wait_for(inbox.typed.close(), 5)
    assert reader.closed.is_set()
    assert inbox.room.handlers == {}
