"""An HTTP answer that is a reply being spoken: sent as it is made, stopped when nobody reads."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from speech_server.audio.encode import AudioEncoder
from speech_server.errors import BadRequest
from speech_server.tts.engine import Pcm16
from speech_server.tts.speaker import Speaker
from speech_server.tts.stream import Delivery, ReplyAudio

logger = logging.getLogger(__name__)

STUCK_READER_S = 10.0
"""A reader that takes nothing for this long is given up, seconds."""

Framing = Callable[[AudioEncoder, AsyncIterator[Pcm16]], AsyncGenerator[bytes, None]]
"""Makes the body out of the reply's audio, int16 (samples,) a piece."""


class SpokenResponse(StreamingResponse):
    """Streams a reply and frees what it holds, however it ends.

    Args:
        body: the bytes to send.
        media_type: MIME type of the body.
        held: closed when the answer is over: the reply and its place.
    """

    def __init__(
        self, body: AsyncGenerator[bytes, None], media_type: str, held: AsyncExitStack
    ) -> None:
        super().__init__(body, media_type=media_type, headers={"Cache-Control": "no-store"})
        self._body = body
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send; a client that hangs up cancels the sending, which stops the engine."""
        async with self._held, aclosing(self._body):
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send piece by piece, each within `STUCK_READER_S`."""
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        async for piece in self._body:
            if not piece:
                continue
            try:
                async with asyncio.timeout(STUCK_READER_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            except TimeoutError:
                # Returning without the end of the body makes the server drop the connection.
                logger.warning("a client stopped reading its audio; answer broken off")
                return
        # Its place is free before the client can know that the answer is over, and ask again.
        await self._held.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def speak_over_http(
    speaker: Speaker,
    text: str,
    delivery: Delivery,
    encoder: AudioEncoder,
    framing: Framing | None = None,
    media_type: str | None = None,
) -> SpokenResponse:
    """Speak a text as the answer of a request.

    The first audio is awaited before the answer begins, so that a failure until then is an
    HTTP error and not a broken body.

    Args:
        speaker: opens the reply.
        text: what to say.
        delivery: how.
        encoder: makes bytes of the audio.
        framing: makes the body; None sends the encoder's bytes as they are.
        media_type: of the body; None takes the encoder's.

    Raises:
        BadRequest: nothing of the text can be spoken.
        Overloaded: no place is free.
        EngineFailed: the engine broke before the first audio.
    """
    async with AsyncExitStack() as held:
        held.enter_context(speaker.admission.admit())
        reply = speaker.open(delivery)
        held.push_async_callback(reply.aclose)
        reply.push(text)
        reply.end()
        events = reply.events()
        first = await anext(events, None)
        if first is None:
            raise BadRequest(
                "there is nothing to speak: no letters or digits that this voice can say"
            )

        async def audio() -> AsyncIterator[Pcm16]:
            if isinstance(first, ReplyAudio):
                yield first.pcm
            async for event in events:
                if isinstance(event, ReplyAudio):
                    yield event.pcm

        body = (framing or encoded)(encoder, audio())
        return SpokenResponse(body, media_type or encoder.content_type, held.pop_all())
    raise AssertionError("unreachable: the block above returns or raises")


async def encoded(
    encoder: AudioEncoder, audio: AsyncIterator[Pcm16]
) -> AsyncGenerator[bytes, None]:
    """The encoder's bytes as they are."""
    async for pcm in audio:
        yield encoder.encode(pcm)
    yield encoder.finish()
