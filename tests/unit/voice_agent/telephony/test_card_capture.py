import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.unit.voice_agent.telephony.rooms import Room, Session
from voice_agent.telephony import card_capture
from voice_agent.telephony.card_capture import (
    AGAIN,
    MISTAKES,
    QUESTIONS,
    STORING,
    CaptureFailed,
    CardCapture,
    StoredCard,
)
from voice_agent.telephony.card_entry import CardEntry, Field
from voice_agent.telephony.card_number import luhn
from voice_agent.telephony.key_line import KeyLine
from voice_agent.telephony.tokeniser import Card, LocalTokeniser, Tokeniser, TokeniserError

TODAY = date(2026, 11, 21)


class Vault:
    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.given: list[bytes] = []
        self.card: Card | None = None

    async def tokenise(self, card: Card) -> str:
        self.card = card
        self.given = [bytes(part.view()) for part in (card.number, card.expiry, card.code)]
        if self._error is not None:
            raise self._error
        return "tok_1"


class Bench:
    def __init__(self, vault: Tokeniser) -> None:
        self.room = Room()
        self.session = Session()
        self.line = KeyLine(self.room)  # type: ignore[arg-type]
        self.line.open()
        self.conversation: list[str] = []
        """Keys that reached the conversation."""
        session: Any = self.session
        self.capture = CardCapture(session, self.line, "caller", vault)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[StoredCard]"]:
        with self.line.listening("caller", self.conversation.append):
            task = asyncio.create_task(self.capture.run(TODAY))
            try:
                yield task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def asked(self, words: str) -> None:
        while words not in self.session.said:
            self.session.spoke.clear()
            await asyncio.wait_for(self.session.spoke.wait(), 5)


@pytest.fixture
def vault() -> Vault:
    return Vault()


@pytest.fixture
def bench(vault: Vault) -> Bench:
    return Bench(vault)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_KEY_S", "NEXT_KEY_S", "RIGHT_S"):
        monkeypatch.setattr(card_capture, name, 0.0)


async def fill(bench: Bench) -> None:
    await bench.asked(QUESTIONS[Field.NUMBER])
    bench.room.press("4111111111111111#")
    await bench.asked(QUESTIONS[Field.EXPIRY])
    bench.room.press("1228")
    await bench.asked(QUESTIONS[Field.CODE])
    bench.room.press("737")


async def test_a_card_becomes_a_token(bench: Bench, vault: Vault) -> None:
    async with bench.running() as task:
        await fill(bench)
        stored = await asyncio.wait_for(task, 5)
    assert stored == StoredCard("tok_1", "1111", "Visa")
    assert vault.given == [b"4111111111111111", b"1228", b"737"]


async def test_nobody_listens_and_no_key_reaches_the_conversation(bench: Bench) -> None:
    async with bench.running() as task:
        await bench.asked(QUESTIONS[Field.NUMBER])
        assert bench.session.input.heard is False
        await fill(bench)
        await asyncio.wait_for(task, 5)
    assert bench.conversation == []
    assert bench.session.input.heard is True
    assert bench.session.away_timer_resets > 0


async def test_nothing_is_left_of_it(
    bench: Bench, vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with bench.running() as task:
        await fill(bench)
        await asyncio.wait_for(task, 5)
    vault.given.clear()
    card = vault.card
    assert card is not None
    assert [len(part) for part in (card.number, card.expiry, card.code)] == [0, 0, 0]
    assert "4111" not in caplog.text
    assert "1111" not in " ".join(bench.session.said)


async def test_a_tone_sounds_while_it_is_stored_and_stops(bench: Bench) -> None:
    async with bench.running() as task:
        await fill(bench)
        await asyncio.wait_for(task, 5)
    assert STORING in bench.session.said
    assert len(bench.session.tones) == 1
    assert not bench.session.tone_sounds


async def test_a_mistake_is_told_and_may_be_mended(bench: Bench) -> None:
    async with bench.running() as task:
        await bench.asked(QUESTIONS[Field.NUMBER])
        bench.room.press("1234#")
        await bench.asked(MISTAKES[Field.NUMBER])
        bench.room.press("411*")
        await bench.asked(AGAIN[Field.NUMBER])
        await fill(bench)
        await asyncio.wait_for(task, 5)


async def test_too_many_mistakes_end_it(bench: Bench) -> None:
    async with bench.running() as task:
        await bench.asked(QUESTIONS[Field.NUMBER])
        bench.room.press("1#2#3#")
        with pytest.raises(CaptureFailed, match="mistakes"):
            await asyncio.wait_for(task, 5)


async def test_the_caller_may_stop(bench: Bench) -> None:
    async with bench.running() as task:
        await bench.asked(QUESTIONS[Field.NUMBER])
        bench.room.press("41**")
        with pytest.raises(CaptureFailed, match="stopped"):
            await asyncio.wait_for(task, 5)
    assert bench.session.input.heard is True


@pytest.mark.usefixtures("hasty")
async def test_a_caller_who_presses_nothing_is_asked_again_and_then_let_be(bench: Bench) -> None:
    async with bench.running() as task:
        with pytest.raises(CaptureFailed, match="mistakes"):
            await asyncio.wait_for(task, 5)
    assert bench.session.said == [QUESTIONS[Field.NUMBER], AGAIN[Field.NUMBER], AGAIN[Field.NUMBER]]


async def test_a_caller_who_never_ends_is_let_be(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_capture, "WHOLE_S", 0.05)
    async with bench.running() as task:
        with pytest.raises(CaptureFailed, match="too slow"):
            await asyncio.wait_for(task, 5)


async def test_a_tokeniser_that_refuses_ends_it() -> None:
    vault = Vault(TokeniserError("the tokeniser answered 500"))
    bench = Bench(vault)
    async with bench.running() as task:
        await fill(bench)
        with pytest.raises(CaptureFailed, match="refused"):
            await asyncio.wait_for(task, 5)
    assert vault.card is not None
    assert len(vault.card.number) == 0
    assert not bench.session.tone_sounds


async def test_a_caller_who_hangs_up_leaves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = []

    class Kept(CardEntry):
        def __init__(self, today: date) -> None:
            super().__init__(today)
            entries.append(self)

    monkeypatch.setattr(card_capture, "CardEntry", Kept)
    async with bench.running() as task:
        await bench.asked(QUESTIONS[Field.NUMBER])
        bench.room.press("4111111111111111#")
        await bench.asked(QUESTIONS[Field.EXPIRY])
        view = entries[0].card.number._digits
        assert any(view)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not any(view)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc/self/mem (Linux)")
async def test_the_memory_of_the_process_does_not_hold_the_number() -> None:
    bench = Bench(LocalTokeniser())
    # never in one piece, except where the product puts it
    digits = [4, *(secrets.randbelow(10) for _ in range(14))]
    digits += [check for check in range(10) if luhn([48 + digit for digit in [*digits, check]])]
    async with bench.running() as task:
        await bench.asked(QUESTIONS[Field.NUMBER])
        for digit in digits:
            bench.room.press(str(digit))
        bench.room.press("#")
        await bench.asked(QUESTIONS[Field.EXPIRY])
        bench.room.press("1228")
        await bench.asked(QUESTIONS[Field.CODE])
        bench.room.press("737")
        stored = await asyncio.wait_for(task, 5)
    assert stored.token.startswith("card_")
    assert not in_memory(digits)
    # the search itself finds what is there
    kept = bytearray(48 + digit for digit in digits)
    assert in_memory(digits)
    assert kept


def in_memory(digits: list[int]) -> bool:
    """Whether this process's memory holds the digits one after the other."""
    # the rest is compared digit by digit, since a needle would be found itself
    head = bytes(48 + digit for digit in digits[:8])
    with Path("/proc/self/maps").open() as maps, Path("/proc/self/mem").open("rb", 0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw") or "[v" in line:
                continue
            start, end = (int(edge, 16) for edge in span.split("-"))
            try:
                memory.seek(start)
                region = memory.read(end - start)
            except (OSError, OverflowError):
                continue
            at = region.find(head)
            while at >= 0:
                if list(region[at + 8 : at + 16]) == [48 + digit for digit in digits[8:]]:
                    return True
                at = region.find(head, at + 1)
    return False
