"""Listens to who answers a call of ours, before the agent says anything."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import numpy as np
from livekit import rtc
from livekit.agents import AgentSession, UserInputTranscribedEvent, UserStateChangedEvent

from voice_agent.telephony.answer import Answer, AnswerDetector
from voice_agent.telephony.beep import BeepDetector

_RATE_HZ: Final = 8000
"""A telephone carries no more."""
_TICK_S: Final = 0.1
_Found = TypeVar("_Found")

LATER_S: Final = 20.0
"""How long a machine is still looked for after a person was supposed, seconds: some greet as people
do ("Hello, this is Anna"), wait, and only then say what they are."""


class AnswerWatch:
    """Feeds a detector from a session and from the callee's track.

    Args:
        session: Of the call.
        callee: Who answered.
    """

    def __init__(self, session: AgentSession, callee: rtc.RemoteParticipant) -> None:
        self._session = session
        self._callee = callee
        self._detector = AnswerDetector()
        self._final_words = ""
        self._began_at_s = asyncio.get_running_loop().time()
        self._listening: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to listen."""
        self._session.on("user_input_transcribed", self._on_words)
        self._session.on("user_state_changed", self._on_state)
        self._listening = asyncio.create_task(self._listen())

    async def aclose(self) -> None:
        """Stop listening."""
        self._session.off("user_input_transcribed", self._on_words)
        self._session.off("user_state_changed", self._on_state)
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def decided(self) -> Answer:
        """Who has answered, as soon as that can be said."""
        return await self._until(
            lambda: None if (answer := self._decide()) is Answer.UNKNOWN else answer
        )

    async def turned_out_a_machine(self) -> bool:
        """Whether, within `LATER_S`, the person is a machine after all."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LATER_S):
                return await self._until(lambda: self._decide() is Answer.MACHINE or None)
        return False

    async def recording(self) -> None:
        """Returns once a machine records."""
        await self._until(lambda: self._detector.may_leave_message(self._now_s()) or None)

    async def _until(self, look: Callable[[], _Found | None]) -> _Found:
        while True:
            found = look()
            if found is not None:
                return found
            await asyncio.sleep(_TICK_S)

    def _decide(self) -> Answer:
        return self._detector.decide(self._now_s())

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time() - self._began_at_s

    def _on_words(self, event: UserInputTranscribedEvent) -> None:
        words = f"{self._final_words} {event.transcript}"
        if event.is_final:
            self._final_words = words
        self._detector.words(words, self._now_s())

    def _on_state(self, event: UserStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._detector.speech_started(self._now_s())
        elif event.old_state == "speaking":
            self._detector.speech_ended(self._now_s())

    async def _listen(self) -> None:
        beeps = BeepDetector(_RATE_HZ)
        track = await self._until(self._track)
        stream = rtc.AudioStream.from_track(track=track, sample_rate=_RATE_HZ, num_channels=1)
        try:
            async for event in stream:
                if beeps.push(np.frombuffer(event.frame.data, np.int16)):
                    self._detector.beep(self._now_s())
        finally:
            await stream.aclose()

    def _track(self) -> rtc.Track | None:
        """The callee's audio; None until we get it."""
        for publication in self._callee.track_publications.values():
            if publication.kind == rtc.TrackKind.KIND_AUDIO and publication.track is not None:
                return publication.track
        return None
