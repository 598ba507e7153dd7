"""A caller on hold: their microphone is nobody's, and a tone tells them that the line is alive."""

from typing import Final, Self

from livekit.agents import AgentSession
from livekit.agents.voice import SpeechHandle

from voice_agent.telephony.hold_sound import hold_frames, paced

_RATE_HZ: Final = 24_000
"""Rate of the tone where the session's output names none."""


class Hold:
    """`async with Hold(session, words)`: words, then the tone, until the block ends.

    The tone is queued behind the words, so that no silence comes between them. Whatever is said
    next follows it after as long as the voice needs for its first sound. Nothing that the caller
    says meanwhile is listened to.

    Args:
        session: Of the call.
        words: Said first; None: nothing.
    """

    def __init__(self, session: AgentSession, words: str | None) -> None:
        self._session = session
        self._words = words
        self._said: SpeechHandle | None = None
        self._tone: SpeechHandle | None = None

    async def __aenter__(self) -> Self:
        session = self._session
        session.input.set_audio_enabled(False)
        if self._words is not None:
            # not for the model: between a call and its result there is no place for a message
            self._said = session.say(self._words, allow_interruptions=False, add_to_chat_ctx=False)
        output = session.output.audio
        rate_hz = output.sample_rate if output is not None else None
        self._tone = session.say(
            "",
            audio=paced(hold_frames(rate_hz or _RATE_HZ)),
            allow_interruptions=False,
            add_to_chat_ctx=False,
        )
        if self._said is not None:
            try:
                await self._said.wait_for_playout()
            except BaseException:
                self._end()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._tone is not None:
            self._tone.interrupt(force=True)
        self._session.input.set_audio_enabled(True)
        self._session.reset_away_timer()
