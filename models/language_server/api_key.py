"""The key that requests must carry, where one is set."""

import hmac

from fastapi import Request

from language_server.errors import Unauthorized
from language_server.settings import LanguageServerSettings


class KeyCheck:
    """Refuses requests without the key, where one is set."""

    def __init__(self, settings: LanguageServerSettings) -> None:
        key = settings.language_api_key
        self._expected = f"Bearer {key.get_secret_value()}".encode() if key else None

    async def __call__(self, request: Request) -> None:
        """Let the request pass.

        Raises:
            Unauthorized: it does not carry the key.
        """
        presented = request.headers.get("authorization", "").encode()
        if self._expected is not None and not hmac.compare_digest(presented, self._expected):
            raise Unauthorized("an API key is required: send it as 'Authorization: Bearer KEY'")
