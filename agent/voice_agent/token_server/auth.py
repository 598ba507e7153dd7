"""Checks the JWT by which the operator's own site vouches for a caller.

HS256 with `token_auth_secret`; `exp` is required, everything else in it is the operator's business.
"""

import jwt

from voice_agent.token_server.errors import Unauthorized

LEEWAY_S = 10
"""Clock difference forgiven between the operator's site and us."""


def authenticate(authorization: str | None, secret: str) -> None:
    """Let a request pass, or raise.

    Args:
        authorization: value of the `Authorization` header.
        secret: what the JWT must be signed with.

    Raises:
        Unauthorized: absent, not a bearer token, expired, or signed by somebody else.
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("send 'Authorization: Bearer JWT'; callers here need a token")
    try:
        jwt.decode(
            token.strip(),
            secret,
            algorithms=["HS256"],
            leeway=LEEWAY_S,
            options={"require": ["exp"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError:
        raise Unauthorized("the caller's JWT has expired; get a new one") from None
    except jwt.MissingRequiredClaimError:
        raise Unauthorized("the caller's JWT has no expiry ('exp')") from None
    except jwt.InvalidTokenError:
        raise Unauthorized("the caller's JWT is not valid here") from None
