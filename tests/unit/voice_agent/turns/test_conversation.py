import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from livekit import rtc
from livekit.agents import Agent, AgentSession, FunctionToolsExecutedEvent, llm
from livekit.agents.voice import io
from livekit.agents.voice.events import (
    AgentStateChangedEvent,
    ConversationItemAddedEvent,
    SpeechCreatedEvent,
)

from tests.unit.voice_agent.turns.listening import ScriptedVoice, silence, speech
from tests.unit.voice_agent.turns.taker_scene import RecordedLine, Sound
from tests.unit.voice_agent.turns.test_endpointer import SETTINGS, Scripted
from voice_agent.turns import conversation as conversation_module
from voice_agent.turns.conversation import Conversation, is_phone_call
from voice_agent.turns.heard_vad import HeardVad
from voice_agent.turns.taker import StreamTurnTaker
from voice_agent.turns.words import Ending


class ScriptedSpeech:
    """A `SpeechHandle` whose every move is made by the test."""

    def __init__(self, items: list[llm.ChatItem] | None = None) -> None:
        self.chat_items = items or []
        self.allow_interruptions = True
        self.interrupted = False
        self._done: list[Any] = []

    def done(self) -> bool:
        return False

    def interrupt(self) -> asyncio.Future[None]:
        self.interrupted = True
        finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        finished.set_result(None)
        return finished

    def add_done_callback(self, callback: Any) -> None:
        self._done.append(callback)

    def finish(self) -> None:
        for callback in self._done:
            callback(self)


class RecordedVoice(io.AudioOutput):
    """Notes when it is paused and resumed."""

    def __init__(self) -> None:
        super().__init__(label="test", capabilities=io.AudioOutputCapabilities(pause=True))
        self.moves: list[str] = []

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Nothing to end."""

    def clear_buffer(self) -> None:
        """Nothing to clear."""

    def pause(self) -> None:
        self.moves.append("pause")

    def resume(self) -> None:
        self.moves.append("resume")


@dataclass
class Scene:
    session: AgentSession
    agent: Agent
    conversation: Conversation
    line: RecordedLine
    voice: RecordedVoice
    scorer: Scripted
    taker: StreamTurnTaker
    current: list[ScriptedSpeech | None]

    def told(self, event: str, **fields: Any) -> None:
        kinds: dict[str, Any] = {
            "conversation_item_added": ConversationItemAddedEvent,
            "agent_state_changed": AgentStateChangedEvent,
            "function_tools_executed": FunctionToolsExecutedEvent,
        }
        self.session.emit(event, kinds[event](**fields))

    async def turn(self, text: str, confidence: float | None = 0.9) -> llm.ChatMessage:
        """The caller's turn is committed."""
        message = llm.ChatMessage(role="user", content=[text], transcript_confidence=confidence)
        context = self.agent.chat_ctx.copy()
        context.insert(message)
        await self.agent.update_chat_ctx(context)
        self.session.history.insert(message)
        self.told("conversation_item_added", item=message)
        return message

    def speak(self, speech: ScriptedSpeech) -> None:
        """The agent's speech begins to be heard."""
        self.current[0] = speech
        self.session.emit(
            "speech_created",
            SpeechCreatedEvent.model_construct(speech_handle=speech),  # type: ignore[arg-type]
        )
        self.told("agent_state_changed", old_state="thinking", new_state="speaking")

    async def settled(self) -> None:
        await asyncio.gather(*self.conversation._undoing)

    @property
    def history(self) -> list[str]:
        """The ids of the session's messages."""
        return [item.id for item in self.session.history.items if item.type == "message"]

    @property
    def said(self) -> list[str | None]:
        """What the model would be shown."""
        items = self.agent.chat_ctx.items
        return [item.text_content for item in items if item.type == "message"]


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    current: list[ScriptedSpeech | None] = [None]
    monkeypatch.setattr(AgentSession, "current_speech", property(lambda _: current[0]))
    scorer = Scripted()
    session: AgentSession = AgentSession(vad=None, turn_handling={"turn_detection": None})
    conversation = Conversation(
        scorer=scorer,
        sound=Sound(lambda _: 0.5),
        load_voice_model=ScriptedVoice,
        vad=HeardVad(1.0),
        settings_for=lambda _: SETTINGS,
        language="en",
    )
    conversation.attach(session)
    line = RecordedLine()
    taker = conversation.taker(line)
    agent = Agent(instructions="")
    await session.start(agent)
    session.output.audio = voice = RecordedVoice()
    yield Scene(session, agent, conversation, line, voice, scorer, taker, current)
    await session.aclose()


async def test_a_turn_that_was_not_answered_yet_is_taken_back(scene: Scene) -> None:
    await scene.turn("I would like to book a table.")
    answer = ScriptedSpeech()
    scene.current[0] = answer
    assert not scene.conversation.agent_has_it
    assert scene.conversation.take_back_turn()
    await scene.settled()
    assert answer.interrupted
    assert "I would like to book a table." not in scene.said
    assert not scene.history


async def test_what_little_was_said_to_it_goes_with_it(scene: Scene) -> None:
    await scene.turn("I would like to book a table.")
    said = llm.ChatMessage(role="assistant", content=["For"], interrupted=True)
    scene.speak(ScriptedSpeech([said]))
    context = scene.agent.chat_ctx.copy()
    context.insert(said)
    await scene.agent.update_chat_ctx(context)
    scene.session.history.insert(said)
    assert not scene.conversation.agent_has_it
    assert scene.conversation.take_back_turn()
    await scene.settled()
    assert "For" not in scene.said
    assert not scene.history


async def test_only_one_turn_is_taken_back_at_a_time(scene: Scene) -> None:
    await scene.turn("Hello.")
    assert scene.conversation.take_back_turn()
    assert not scene.conversation.take_back_turn()
    await scene.settled()


async def test_an_answer_that_was_heard_stays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_module, "_HARDLY_HEARD_S", 0.0)
    await scene.turn("Hello.")
    scene.speak(ScriptedSpeech())
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        while not scene.conversation.agent_has_it:  # noqa: ASYNC110 - a timer of no length
            await asyncio.sleep(0)
    assert not scene.conversation.take_back_turn()
    assert "Hello." in scene.said


async def test_what_a_tool_did_cannot_be_taken_back(scene: Scene) -> None:
    await scene.turn("Book it.")
    scene.told("function_tools_executed", function_calls=[], function_call_outputs=[])
    assert not scene.conversation.take_back_turn()


async def test_typed_words_are_not_taken_back(scene: Scene) -> None:
    await scene.turn("When do you open?", confidence=None)
    assert not scene.conversation.take_back_turn()


async def test_speech_that_may_not_be_interrupted_is_left_alone(scene: Scene) -> None:
    await scene.turn("Goodbye.")
    farewell = ScriptedSpeech()
    farewell.allow_interruptions = False
    scene.current[0] = farewell
    assert not scene.conversation.take_back_turn()
    scene.conversation.take_from_agent()
    assert not farewell.interrupted


async def test_the_greeting_has_the_floor_from_its_first_sound(scene: Scene) -> None:
    greeting = ScriptedSpeech()
    scene.speak(greeting)
    assert scene.conversation.agent_has_it
    scene.told("agent_state_changed", old_state="speaking", new_state="listening")
    assert scene.conversation.agent_has_it, "paused, since the caller made a sound"
    scene.conversation.take_from_agent()
    assert greeting.interrupted
    assert not scene.conversation.agent_has_it


async def test_the_taker_learns_that_the_agent_is_done(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[None] = []
    taker = scene.conversation.taker(scene.line)
    monkeypatch.setattr(taker, "agent_stopped", lambda: stopped.append(None))
    speech = ScriptedSpeech()
    scene.speak(speech)
    speech.finish()
    assert len(stopped) == 1


async def test_what_the_agent_asked_is_known_when_the_caller_answers(scene: Scene) -> None:
    asked = llm.ChatMessage(role="assistant", content=["Tuesday is free. Shall I book it?"])
    scene.told("conversation_item_added", item=asked)
    audio = np.concatenate((speech(10), silence(4)))
    scene.taker.hear(audio)
    scene.taker.read("Yes.", len(audio))
    assert scene.scorer.shown[-1].ending is Ending.ANSWER


async def test_nobody_is_on_the_phone_without_a_room(scene: Scene) -> None:
    assert not is_phone_call(scene.session)


async def test_an_agent_that_is_held_goes_on_when_released(scene: Scene) -> None:
    scene.speak(ScriptedSpeech())
    scene.conversation.hold_agent()
    assert scene.voice.moves == ["pause"]
    scene.conversation.release_agent()
    scene.conversation.release_agent()
    assert scene.voice.moves == ["pause", "resume"]


async def test_what_is_interrupted_is_not_heard_again(scene: Scene) -> None:
    speech = ScriptedSpeech()
    scene.speak(speech)
    scene.conversation.hold_agent()
    scene.conversation.take_from_agent()
    assert speech.interrupted
    assert scene.voice.moves == ["pause"]
    speech.finish()
    assert scene.voice.moves == ["pause", "resume"]


async def test_a_sentence_that_must_be_heard_is_not_held(scene: Scene) -> None:
    speech = ScriptedSpeech()
    speech.allow_interruptions = False
    scene.speak(speech)
    scene.conversation.hold_agent()
    assert scene.voice.moves == []


async def test_a_sentence_that_must_be_heard_after_all_goes_on(scene: Scene) -> None:
    speech = ScriptedSpeech()
    scene.speak(speech)
    scene.conversation.hold_agent()
    speech.allow_interruptions = False
    scene.conversation.take_from_agent()
    assert not speech.interrupted
    assert scene.voice.moves == ["pause", "resume"]


async def test_without_a_voice_nothing_is_held(scene: Scene) -> None:
    scene.session.output.audio = None
    scene.speak(ScriptedSpeech())
    scene.conversation.hold_agent()
    scene.conversation.release_agent()
