import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from voice_agent.telephony.secret_digits import SecretDigits
from voice_agent.telephony.tokeniser import (
    MAX_ANSWER_BYTES,
    Card,
    HttpTokeniser,
    LocalTokeniser,
    TokeniserError,
    load_tokeniser,
    tokeniser_for,
)


def secret(value: str) -> SecretDigits:
    digits = SecretDigits(19)
    for digit in value:
        digits.add(digit)
    return digits


@pytest.fixture
def card() -> Card:
    return Card(secret("4111111111111111"), secret("1228"), secret("737"))


class Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.content = self
        self._body = body

    async def iter_any(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), 1000):
            yield self._body[at : at + 1000]


class Service:
    """Stands in for an aiohttp session."""

    def __init__(self, answer: Answer | Exception) -> None:
        self._answer = answer
        self.requests: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.bodies: list[bytearray] = []

    @asynccontextmanager
    async def post(self, url: str, *, data: bytearray, **options: Any) -> AsyncIterator[Answer]:
        self.bodies.append(data)
        self.requests.append((url, json.loads(bytes(data)), options))
        if isinstance(self._answer, Exception):
            raise self._answer
        yield self._answer


def tokeniser(answer: Answer | Exception) -> tuple[HttpTokeniser, Service]:
    service = Service(answer)
    session: Any = service
    return HttpTokeniser("https://vault.example/cards", "key", session), service


async def test_a_local_token_says_nothing_of_the_card(card: Card) -> None:
    local = LocalTokeniser()
    token = await local.tokenise(card)
    assert re.fullmatch(r"card_[A-Za-z0-9_-]{22}", token)
    assert await local.tokenise(card) == token
    assert await LocalTokeniser().tokenise(card) != token
    assert b"4111111111111111" not in repr(vars(local)).encode()


async def test_a_service_gets_the_card_over_tls_and_no_redirect(card: Card) -> None:
    http, service = tokeniser(Answer(201, b'{"token": "tok_1"}'))
    assert await http.tokenise(card) == "tok_1"
    url, body, options = service.requests[0]
    assert url == "https://vault.example/cards"
    assert body == {"number": "4111111111111111", "expiry": "1228", "code": "737"}
    assert options["headers"]["Authorization"] == "Bearer key"
    assert options["allow_redirects"] is False


async def test_what_was_sent_is_wiped(card: Card) -> None:
    http, service = tokeniser(Answer(200, b'{"token": "tok_1"}'))
    await http.tokenise(card)
    assert not any(service.bodies[0])


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500, b"4111111111111111"),
        aiohttp.ClientConnectionError("4111111111111111"),
        TimeoutError(),
    ],
)
async def test_a_failure_is_wiped_too_and_quotes_nothing(
    card: Card, answer: Answer | Exception
) -> None:
    http, service = tokeniser(answer)
    with pytest.raises(TokeniserError) as failure:
        await http.tokenise(card)
    assert "4111" not in str(failure.value)
    assert failure.value.__cause__ is None
    assert not any(service.bodies[0])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'{"token": 5}',
        b'{"token": ""}',
        b'{"token": "4111111111111111"}',
        b'{"token": "a b"}',
        b'{"token": "' + b"x" * 2000 + b'"}',
        b"[" * 2000,
        b"x" * (MAX_ANSWER_BYTES + 1),
    ],
)
async def test_an_answer_without_a_token_is_refused(card: Card, body: bytes) -> None:
    with pytest.raises(TokeniserError):
        await tokeniser(Answer(200, body))[0].tokenise(card)


class Forever(Answer):
    """Never goes on."""

    def __init__(self) -> None:
        super().__init__(200, b"")
        self.asked = asyncio.Event()

    async def iter_any(self) -> AsyncIterator[bytes]:
        self.asked.set()
        await asyncio.Event().wait()
        yield b""


async def test_a_cancelled_request_is_wiped_too(card: Card) -> None:
    answer = Forever()
    http, service = tokeniser(answer)
    task = asyncio.create_task(http.tokenise(card))
    await asyncio.wait_for(answer.asked.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(service.bodies[0])


def test_the_operator_names_one() -> None:
    assert isinstance(load_tokeniser("local"), LocalTokeniser)
    assert isinstance(load_tokeniser("https://vault.example"), HttpTokeniser)
    own = load_tokeniser("voice_agent.telephony.tokeniser:LocalTokeniser")
    assert isinstance(own, LocalTokeniser)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("http://vault.example", "https://"),
        ("vault", "module:factory"),
        ("", "module:factory"),
        ("no_such_module_of_ours:make", "no_such_module_of_ours"),
        ("json:no_such_factory", "no_such_factory"),
    ],
)
def test_a_wrong_name_is_told(name: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        load_tokeniser(name)


def test_a_call_goes_on_without_cards(caplog: pytest.LogCaptureFixture) -> None:
    assert tokeniser_for(None) is None
    assert isinstance(tokeniser_for("local"), LocalTokeniser)
    assert not caplog.records
    assert tokeniser_for("http://vault.example") is None
    assert [record.message for record in caplog.records] == ["no cards are taken"]
