"""Takes a card by keys alone: meanwhile nobody listens, nothing is transcribed, nothing is kept.

The microphone is detached from the session for the whole of it, so that neither a recogniser nor a
model can get a number that a caller reads aloud; keys go to this and to nothing else; and what goes
on to the conversation is a token, the last four digits and the brand.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import date
from typing import Final

from livekit.agents import AgentSession
from livekit.agents.voice import SpeechHandle

from voice_agent.telephony.card_entry import CardEntry, Field, Step
from voice_agent.telephony.hold import Hold
from voice_agent.telephony.key_line import KeyLine
from voice_agent.telephony.tokeniser import Tokeniser, TokeniserError

logger = logging.getLogger(__name__)

MAX_MISTAKES: Final = 3
"""Wrong or empty fields before the attempt ends."""
FIRST_KEY_S: Final = 12.0
"""Wait for the first key of a field after it was asked for; a card has to be found first."""
NEXT_KEY_S: Final = 10.0
"""Wait for each further key: a caller reads four digits at a time."""
RIGHT_S: Final = 3.0
"""The same once the field is right as it stands, for callers who leave the hash key out."""
WHOLE_S: Final = 180.0
"""Longest capture, seconds."""

QUESTIONS: Final = {
    Field.NUMBER: (
        "For your safety I do not listen now, please do not say your number. Enter your card "
        "number on the keypad, then press the hash key. The star key starts again."
    ),
    Field.EXPIRY: "Thank you. Now the expiry date, two digits for the month and two for the year.",
    Field.CODE: "And the security code.",
}
MISTAKES: Final = {
    Field.NUMBER: "That is not a valid card number. Please enter it again, then the hash key.",
    Field.EXPIRY: "That is not a valid expiry date. Please enter the month and the year again.",
    Field.CODE: "That code has the wrong length. Please enter it again.",
}
AGAIN: Final = {
    Field.NUMBER: "Please enter the card number again, then press the hash key.",
    Field.EXPIRY: "Please enter the expiry date again.",
    Field.CODE: "Please enter the security code again.",
}
STORING: Final = "Thank you. One moment."


class CaptureFailed(Exception):
    """There is no card.

    Args:
        reason: `stopped`, `mistakes`, `too slow` or `refused`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class StoredCard:
    """What may be known of a card."""

    token: str
    last_four: str
    brand: str


class CardCapture:
    """One attempt to take a card.

    Args:
        session: Of the call.
        keys: The keys that come into its room.
        caller: Identity of the caller.
        tokeniser: Where the card goes.
    """

    def __init__(
        self, session: AgentSession, keys: KeyLine, caller: str, tokeniser: Tokeniser
    ) -> None:
        self._session = session
        self._keys = keys
        self._caller = caller
        self._tokeniser = tokeniser
        self._pressed: asyncio.Queue[str] = asyncio.Queue()
        self._said: SpeechHandle | None = None

    async def run(self, today: date) -> StoredCard:
        """Ask for a card and hand it over.

        Raises:
            CaptureFailed: there is none. Every digit is wiped in any case.
        """
        entry = CardEntry(today)
        microphone = self._session.input
        microphone.set_audio_enabled(False)
        try:
            with self._keys.listening(self._caller, self._on_key):
                async with asyncio.timeout(WHOLE_S):
                    await self._fill(entry)
                    last_four, brand = entry.last_four, entry.brand
                    async with Hold(self._session, STORING):
                        token = await self._tokeniser.tokenise(entry.card)
            return StoredCard(token, last_four, brand)
        except TimeoutError:
            raise CaptureFailed("too slow") from None
        except TokeniserError as error:
            logger.error("card not stored", extra={"reason": str(error)})
            raise CaptureFailed("refused") from None
        finally:
            entry.card.wipe()
            while not self._pressed.empty():
                self._pressed.get_nowait()
            microphone.set_audio_enabled(True)
            self._session.reset_away_timer()

    async def _fill(self, entry: CardEntry) -> None:
        mistakes = 0
        words: str | None = QUESTIONS[Field.NUMBER]
        while (field := entry.field) is not None:
            self._ask(words)
            step = await self._next(entry)
            if step is Step.STOPPED:
                raise CaptureFailed("stopped")
            if step is Step.NEXT:
                words = QUESTIONS[entry.field] if entry.field is not None else None
            elif step is Step.CLEARED:
                words = AGAIN[field]
            elif mistakes + 1 < MAX_MISTAKES:
                mistakes += 1
                words = MISTAKES[field] if step is Step.WRONG else AGAIN[field]
            else:
                raise CaptureFailed("mistakes")

    def _ask(self, words: str | None) -> None:
        if words is not None:
            self._said = self._session.say(words, allow_interruptions=False, add_to_chat_ctx=False)

    async def _next(self, entry: CardEntry) -> Step:
        """Read keys until the field is whole, or the caller has stopped pressing."""
        while True:
            key = await self._key(entry)
            if key is None:
                return entry.pause()
            step = entry.press(key)
            if step is not Step.MORE:
                return step

    async def _key(self, entry: CardEntry) -> str | None:
        """The next key; None where none comes. A key cuts the question short."""
        waiting = asyncio.ensure_future(self._pressed.get())
        try:
            if not entry.begun and self._said is not None:
                heard = asyncio.ensure_future(self._said.wait_for_playout())
                await asyncio.wait((waiting, heard), return_when=asyncio.FIRST_COMPLETED)
                heard.cancel()
            wait_s = NEXT_KEY_S if entry.begun else FIRST_KEY_S
            if entry.is_right:
                wait_s = RIGHT_S
            await asyncio.wait((waiting,), timeout=wait_s)
            if not waiting.done():
                return None
            if self._said is not None:
                self._said.interrupt(force=True)
                self._said = None
            return waiting.result()
        finally:
            waiting.cancel()

    def _on_key(self, key: str) -> None:
        self._pressed.put_nowait(key)
