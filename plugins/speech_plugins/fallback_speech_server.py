"""A speech server that can be asked whether it is ready."""

import aiohttp
from livekit.agents import APIStatusError

from speech_plugins.connection import SpeechServer, wire_errors
from speech_plugins.fallback import ATTEMPT_TIMEOUT_S

_READY_PATH = "ready"


class FirstSpeechServer(SpeechServer):
    """`SpeechServer` that answers for its health."""

    async def check_ready(self) -> None:
        """Return once it says that its engines are loaded and warm.

        Raises:
            APIError: it does not.
        """
        session = self._open_session()
        timeout = aiohttp.ClientTimeout(total=ATTEMPT_TIMEOUT_S)
        with wire_errors():
            async with session.get(self._url.joinpath(_READY_PATH), timeout=timeout) as response:
                # A server of somebody else that speaks the dialect may know no such path.
                if response.status >= 500:
                    raise APIStatusError("it is not ready", status_code=response.status)
