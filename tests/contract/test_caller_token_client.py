"""The caller's token request against the real token server and against odd ones."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import jwt
import pytest
import uvicorn
from aiohttp import web
from aiohttp.test_utils import TestServer

from voice_agent.caller.errors import BadInput, CallerError, CallFailure
from voice_agent.caller.token_client import MAX_ANSWER_BYTES, TokenRequest, fetch_ticket
from voice_agent.settings import TokenServerSettings
from voice_agent.token_server.app import create_app

SECRET = "a-secret-of-at-least-thirty-two-characters"
ANYTHING = TokenRequest()
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def token_server(**settings: object) -> AsyncIterator[str]:
    """Parley's own, on a free port."""
    app = create_app(
        TokenServerSettings(livekit_api_key="key", livekit_api_secret=SECRET, **settings)  # type: ignore[arg-type]
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        assert not task.done()
        await asyncio.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def odd_server(handler: Handler) -> AsyncIterator[str]:
    """Answers `POST /api/token` with `handler`."""
    app = web.Application()
    app.router.add_post("/api/token", handler)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


async def refusal(url: str, request: TokenRequest = ANYTHING) -> CallerError:
    with pytest.raises(CallerError) as error:
        await fetch_ticket(url, request)
    return error.value


async def test_a_token_for_the_agent_and_persona_that_were_asked_for() -> None:
    async with token_server(livekit_url="ws://media.example:1234") as url:
        ticket = await fetch_ticket(url, TokenRequest(agent="parley", persona="front_desk"))
    assert ticket.server_url == "ws://media.example:1234"
    claims = jwt.decode(ticket.participant_token, SECRET, algorithms=["HS256"])
    (dispatch,) = claims["roomConfig"]["agents"]
    assert dispatch["agentName"] == "parley"
    assert json.loads(dispatch["metadata"]) == {"persona": "front_desk"}


async def test_nothing_asked_for_is_the_servers_choice() -> None:
    async with token_server() as url:
        assert (await fetch_ticket(url + "/", TokenRequest())).participant_token


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (TokenRequest(agent="somebody-else"), "the agent here is 'parley'"),
        (TokenRequest(persona="villain"), "must be one of: front_desk"),
    ],
)
async def test_a_refusal_is_told_in_the_servers_words(request_: TokenRequest, words: str) -> None:
    async with token_server() as url:
        error = await refusal(url, request_)
    assert error.code is CallFailure.TOKEN_REFUSED
    assert words in error.message
    assert "400" in error.message


async def test_a_server_that_wants_the_visitors_own_token_gets_it() -> None:
    visitor = jwt.encode({"exp": 2**33}, SECRET, algorithm="HS256")
    async with token_server(token_auth_secret=SECRET) as url:
        assert (await refusal(url)).code is CallFailure.TOKEN_REFUSED
        ticket = await fetch_ticket(url, TokenRequest(auth_token=visitor))
    assert ticket.participant_token


async def test_nobody_there_is_told(unused_tcp_port: int) -> None:
    error = await refusal(f"http://127.0.0.1:{unused_tcp_port}")
    assert error.code is CallFailure.UNREACHABLE
    assert "parley run" in error.message


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "ftp://host", "http://"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    assert isinstance(await refusal(url), BadInput)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"not json \xff",
        b"{}",
        b'{"server_url": "ws://a", "participant_token": ""}',
        b'{"server_url": "file:///etc", "participant_token": "t"}',
        b'{"server_url": "ws://a", "participant_token": "t", "more": "' + b"x" * MAX_ANSWER_BYTES,
    ],
)
async def test_an_answer_that_is_no_token_is_told(body: bytes) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=201, body=body)

    async with odd_server(answer) as url:
        error = await refusal(url)
    assert error.code is CallFailure.TOKEN_REFUSED
    assert "not a token" in error.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"detail": [{"msg": "too long"}, {"msg": "too short"}]}', "too long; too short"),
        (b'{"message": "no"}', "no"),
        (b"<h1>Bad Gateway</h1>\x1b[2J", "<h1>Bad Gateway</h1>"),
        (b"", "no reason given"),
        (b"x" * 100_000, "xxx"),
    ],
)
async def test_any_servers_refusal_is_shown_short_and_printable(body: bytes, words: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=502, body=body)

    async with odd_server(answer) as url:
        error = await refusal(url)
    assert words in error.message
    assert "502" in error.message
    assert error.message.isprintable()
    assert len(error.message) < 500


async def test_a_connection_cut_in_the_answer_is_told() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=201)
        response.content_length = 1000
        await response.prepare(request)
        await response.write(b'{"server_url": "ws')
        assert request.transport is not None
        request.transport.abort()
        return response

    async with odd_server(cut) as url:
        assert (await refusal(url)).code is CallFailure.UNREACHABLE
