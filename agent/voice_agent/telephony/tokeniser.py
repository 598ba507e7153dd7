"""Where a card goes: to a tokeniser, which keeps it and gives a token that is worth nothing.

The operator names one: `local`, an https address, or `module:factory` of their own.
"""

import hashlib
import hmac
import importlib
import json
import logging
import re
import secrets
from dataclasses import dataclass
from typing import Final, Protocol, cast

import aiohttp
from pydantic import SecretStr

from voice_agent.telephony.redaction import redact
from voice_agent.telephony.secret_digits import SecretDigits

logger = logging.getLogger(__name__)

TIMEOUT_S: Final = 8.0
"""Longest wait for a tokeniser's answer, seconds; the caller hears the hold tone meanwhile."""
MAX_ANSWER_BYTES: Final = 4096

_TOKEN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_FACTORY: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class TokeniserError(Exception):
    """The card could not be handed over; the message holds nothing of it."""


@dataclass(frozen=True, slots=True, repr=False)
class Card:
    """What a caller has keyed in. Wiped as soon as a tokeniser has had it."""

    number: SecretDigits
    expiry: SecretDigits
    """MMYY."""
    code: SecretDigits
    """Verification code: used once, kept by nobody. Source: PCI DSS 3.3.1."""

    def wipe(self) -> None:
        """Overwrite every digit."""
        for digits in (self.number, self.expiry, self.code):
            digits.wipe()


class Tokeniser(Protocol):
    """Keeps cards. An implementation must not hold on to `card` or to a view of it."""

    async def tokenise(self, card: Card) -> str:
        """Take a card and give its token.

        Raises:
            TokeniserError: it was refused, or nobody answered.
        """
        ...


class LocalTokeniser:
    """Random tokens, in this process's memory alone: for trying the flow out, not for payments.

    A card that comes again gets the token it had. It is known by a keyed hash, whose key is random
    and ends with the process; the card itself is not kept.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._tokens: dict[bytes, str] = {}

    async def tokenise(self, card: Card) -> str:
        """See `Tokeniser`."""
        mark = hmac.new(self._key, card.number.view(), hashlib.sha256).digest()
        return self._tokens.setdefault(mark, f"card_{secrets.token_urlsafe(16)}")


class HttpTokeniser:
    """A service of the operator's: `POST` of `{"number", "expiry", "code"}`, answer `{"token"}`.

    Args:
        url: Its https address; redirects are not followed.
        key: Sent as a bearer token; None: none.
        session: For tests; None: one for each request.

    Raises:
        ValueError: the address is not https.
    """

    def __init__(
        self, url: str, key: str | None = None, session: aiohttp.ClientSession | None = None
    ) -> None:
        if not url.startswith("https://"):
            raise ValueError("a card is sent over TLS only; the address must begin with https://")
        self._url = url
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._session = session

    async def tokenise(self, card: Card) -> str:
        """See `Tokeniser`."""
        body = _body(card)
        try:
            if self._session is not None:
                return await self._post(self._session, body)
            async with aiohttp.ClientSession() as session:
                return await self._post(session, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            # its message may quote what was sent
            raise TokeniserError(f"the tokeniser is unreachable: {type(error).__name__}") from None
        finally:
            body[:] = bytes(len(body))

    async def _post(self, session: aiohttp.ClientSession, body: bytearray) -> str:
        async with session.post(
            self._url,
            data=body,
            headers=self._headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
        ) as response:
            if response.status not in (200, 201):
                raise TokeniserError(f"the tokeniser answered {response.status}")
            answer = b""
            async for piece in response.content.iter_any():
                answer += piece
                if len(answer) > MAX_ANSWER_BYTES:
                    raise TokeniserError("the tokeniser's answer is too long")
        try:
            token = json.loads(answer)["token"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise TokeniserError("the tokeniser's answer holds no token") from None
        if not isinstance(token, str) or not _TOKEN.fullmatch(token) or redact(token) != token:
            raise TokeniserError("the tokeniser's answer holds no token")
        return token


def load_tokeniser(name: str, key: str | None = None) -> Tokeniser:
    """The tokeniser that the operator names.

    Args:
        name: `local`, an https address, or `module:factory`, a callable without arguments.
        key: Bearer token for an https address.

    Raises:
        ValueError: there is no such tokeniser; names what is possible.
    """
    if name == "local":
        return LocalTokeniser()
    if name.startswith(("http://", "https://")):
        return HttpTokeniser(name, key)
    if not _FACTORY.fullmatch(name):
        raise ValueError("card_tokeniser must be local, an https address, or module:factory")
    module, _, factory = name.partition(":")
    try:
        return cast(Tokeniser, getattr(importlib.import_module(module), factory)())
    except (ImportError, AttributeError) as error:
        raise ValueError(f"card_tokeniser: {error}") from None


def tokeniser_for(name: str | None, key: SecretStr | None = None) -> Tokeniser | None:
    """The operator's tokeniser; None where they name none, or one that cannot be used.

    A call goes on without cards rather than not at all; the log says why.
    """
    if name is None:
        return None
    try:
        return load_tokeniser(name, key.get_secret_value() if key is not None else None)
    except ValueError as error:
        logger.error("no cards are taken", extra={"reason": str(error)})
        return None


def _body(card: Card) -> bytearray:
    """JSON in bytes that can be wiped; digits need no escaping."""
    parts = (
        b'{"number":"', card.number.view(), b'","expiry":"', card.expiry.view(),
        b'","code":"', card.code.view(), b'"}',
    )  # fmt: skip
    # of its full size at once: a bytearray that grows leaves its old memory behind
    body = bytearray(sum(map(len, parts)))
    end = 0
    for part in parts:
        begin, end = end, end + len(part)
        body[begin:end] = part
    return body
