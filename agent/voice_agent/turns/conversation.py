"""The turns of one call: what turn-taking knows of the agent's side, and what it may do to it."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from livekit import rtc
from livekit.agents import (
    AgentSession,
    AgentStateChangedEvent,
    FunctionToolsExecutedEvent,
    SpeechCreatedEvent,
    llm,
)
from livekit.agents.voice import SpeechHandle, io
from livekit.agents.voice.events import ConversationItemAddedEvent

from speech_plugins.turn_taking import TurnLine
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.heard_vad import HeardVad
from voice_agent.turns.onset import SpeechOnset
from voice_agent.turns.scorer import EndScorer
from voice_agent.turns.sound import SoundModel
from voice_agent.turns.speech_activity import SpeechActivity, VoiceModel
from voice_agent.turns.taker import StreamTurnTaker

logger = logging.getLogger(__name__)

_HARDLY_HEARD_S: Final = 0.3
"""An answer that has sounded for less than this is taken back with the turn: nobody has understood
anything of it yet."""


class Conversation:
    """Follows a session, and makes the turn taker of its stream. Implements `taker.Floor`.

    Args:
        scorer: how likely it is that a turn is over.
        sound: judges the sound of its end.
        load_voice_model: makes the voice activity model of a stream.
        vad: is told what that model hears, for the framework.
        settings_for: when a turn of a session's caller is over; asked again and again, since who
            calls is not known at first.
        language: BCP 47 tag of what is spoken.
    """

    def __init__(
        self,
        *,
        scorer: EndScorer,
        sound: SoundModel,
        load_voice_model: Callable[[], VoiceModel],
        vad: HeardVad,
        settings_for: Callable[[AgentSession | None], EndpointingSettings],
        language: str,
    ) -> None:
        self._scorer = scorer
        self._sound = sound
        self._load_voice_model = load_voice_model
        self.vad = vad
        """To be the session's."""
        self._settings_for = settings_for
        self._language = language
        self._session: AgentSession | None = None
        self._taker: StreamTurnTaker | None = None
        self._turn: llm.ChatMessage | None = None
        """The caller's last turn while it may be taken back."""
        self._agent_said = ""
        """What the agent said last, as far as it was heard."""
        self._sounding: SpeechHandle | None = None
        """The agent's speech of which something was heard."""
        self._held: SpeechHandle | None = None
        """The agent's speech that was silenced for now."""
        self._undoing: set[asyncio.Task[None]] = set()

    def attach(self, session: AgentSession) -> None:
        """Begin to follow; call before the session starts."""
        self._session = session
        session.on("agent_state_changed", self._on_agent_state_changed)
        session.on("conversation_item_added", self._on_item_added)
        session.on("function_tools_executed", self._on_tools_executed)
        session.on("speech_created", self._on_speech_created)

    def taker(self, line: TurnLine) -> StreamTurnTaker:
        """Make the turn taker of a stream; the last one made is that of the call."""
        self._taker = StreamTurnTaker(
            line,
            self,
            SpeechActivity(self._load_voice_model()),
            Endpointer(
                self._scorer,
                lambda: self._settings_for(self._session),
                self._language,
                lambda: self._agent_said,
            ),
            self._sound,
            self.vad.hear,
            SpeechOnset(self._load_voice_model),
        )
        return self._taker

    # --- as a `Floor` ---

    @property
    def agent_has_it(self) -> bool:
        """See `Floor.agent_has_it`."""
        speech = self._speech()
        return speech is not None and speech is self._sounding and self._turn is None

    def hold_agent(self) -> None:
        """See `Floor.hold_agent`."""
        speech, audio = self._speech(), self._audio
        if speech is not None and speech.allow_interruptions and audio is not None:
            self._held = speech
            audio.pause()

    def release_agent(self) -> None:
        """See `Floor.release_agent`."""
        if self._held is not None:
            self._held = None
            if (audio := self._audio) is not None:
                audio.resume()

    def take_from_agent(self) -> None:
        """See `Floor.take_from_agent`."""
        speech = self._speech()
        if speech is not None and speech.allow_interruptions:
            speech.interrupt()  # what is held stays so until it is gone
        else:
            self.release_agent()

    def take_back_turn(self) -> bool:
        """See `Floor.take_back_turn`."""
        session, turn = self._session, self._turn
        if session is None or turn is None:
            return False
        self._turn = None
        speech = self._speech()
        if speech is not None and not speech.allow_interruptions:
            return False
        undoing = asyncio.create_task(self._undo(session, turn, speech))
        self._undoing.add(undoing)
        undoing.add_done_callback(self._undoing.discard)
        return True

    async def _undo(
        self, session: AgentSession, turn: llm.ChatMessage, speech: SpeechHandle | None
    ) -> None:
        """Take a turn, and what little was said to it, out of the conversation."""
        if speech is not None:
            await speech.interrupt()
        said = [] if speech is None else speech.chat_items
        undone = {turn.id, *(item.id for item in said)}
        agent = session.current_agent
        context = agent.chat_ctx.copy()
        context.items[:] = [item for item in context.items if item.id not in undone]
        await agent.update_chat_ctx(context)
        history = session.history
        history.items[:] = [item for item in history.items if item.id not in undone]

    # --- what the session tells ---

    @property
    def _audio(self) -> io.AudioOutput | None:
        audio = self._session.output.audio if self._session is not None else None
        return audio if audio is not None and audio.can_pause else None

    def _speech(self) -> SpeechHandle | None:
        """What the agent says or is about to say."""
        speech = self._session.current_speech if self._session is not None else None
        return None if speech is None or speech.interrupted or speech.done() else speech

    def _on_agent_state_changed(self, event: AgentStateChangedEvent) -> None:
        speech = self._speech()
        if event.new_state == "speaking" and speech is not self._sounding:
            self._sounding = speech
            loop = asyncio.get_running_loop()
            loop.call_later(_HARDLY_HEARD_S, self._on_answer_heard, self._turn)

    def _on_answer_heard(self, turn: llm.ChatMessage | None) -> None:
        if turn is self._turn:
            self._turn = None

    def _on_item_added(self, event: ConversationItemAddedEvent) -> None:
        item = event.item
        if isinstance(item, llm.ChatMessage) and item.role == "assistant":
            self._agent_said = item.text_content or ""
        # Typed words have no confidence, and no second half that could follow.
        if isinstance(item, llm.ChatMessage) and item.role == "user":
            self._turn = item if item.transcript_confidence is not None else None

    def _on_tools_executed(self, _: FunctionToolsExecutedEvent) -> None:
        self._turn = None  # what was done for it cannot be undone

    def _on_speech_created(self, event: SpeechCreatedEvent) -> None:
        event.speech_handle.add_done_callback(self._on_speech_done)

    def _on_speech_done(self, speech: SpeechHandle) -> None:
        if speech is self._held:
            self.release_agent()
        if speech is self._sounding:
            self._sounding = None
            if not speech.interrupted:
                self._turn = None
                if self._taker is not None:
                    self._taker.agent_stopped()


def is_phone_call(session: AgentSession) -> bool:
    """Whether the caller of a session has dialled in; False while nobody is there."""
    try:
        caller = session.room_io.linked_participant
    except RuntimeError:  # no room: a test, or the console
        return False
    return caller is not None and caller.kind == rtc.ParticipantKind.PARTICIPANT_KIND_SIP
