"""One call from its first to its last second: what ties a session to a room and to a caller."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from livekit import rtc
from livekit.agents import (
    CloseEvent,
    CloseReason,
    JobContext,
    llm,
    stt,
    tts,
)
from livekit.agents.voice import SpeechHandle
from openai import OpenAIError

from speech_plugins import LLM
from speech_plugins.fallback_llm import FallbackLLM
from voice_agent.agents import CallAgents, McpTools, connect_mcp
from voice_agent.apologies import Apologies, is_spoken
from voice_agent.audio_output import RoomAudioOutput
from voice_agent.persona_choice import persona_for
from voice_agent.personas import Persona, PersonaError
from voice_agent.prompt import persona_clock
from voice_agent.session import OUTPUT_RATE_HZ, create_session, room_options
from voice_agent.settings import AgentSettings
from voice_agent.silence import SilenceWatch
from voice_agent.telephony.arrival import phone_caller_of
from voice_agent.telephony.caller import PhoneCaller
from voice_agent.telephony.phone_call import PhoneCall
from voice_agent.telephony.redaction import redact, redact_framework_logs
from voice_agent.telephony.tokeniser import tokeniser_for
from voice_agent.tool_context import tool_context
from voice_agent.tools.mcp_tools import McpConnections
from voice_agent.turn_metrics import TurnMeter
from voice_agent.turn_report import TURN_TOPIC, TurnReport
from voice_agent.typed_text import TypedText

logger = logging.getLogger(__name__)

HANDOFF_ATTRIBUTE = "parley.handoff"
"""Attribute of the agent's participant: `requested` once a person is wanted."""

ERROR_ATTRIBUTE = "parley.error"
"""Attribute of the agent's participant: why a call is refused, for the caller's client."""

REFUSAL_S = 2.0
"""How long a refused caller's client has for reading the reason."""

VAD_KEY = "vad"
"""Where prewarming leaves the voice activity detector in `JobProcess.userdata`."""


class Call:
    """A session at work: greets, watches over silence and faults, and hangs up cleanly."""

    def __init__(
        self,
        job: JobContext,
        settings: AgentSettings,
        persona: Persona,
        mcp_tools: McpTools | None = None,
        caller: PhoneCaller | None = None,
    ) -> None:
        self._job = job
        self._settings = settings
        self._persona = persona
        self._phone = self._make_phone(caller) if caller is not None else None
        context = tool_context(self, settings, persona, persona_clock(persona), self._phone)
        self._agents = CallAgents(
            settings, persona, context, self._warm_soon, mcp_tools, self._phone
        )
        self._session = create_session(
            settings,
            persona,
            job.proc.userdata[VAD_KEY],
            self._agents.first_tools,
            job.room.name,
            on_phone=caller is not None,
        )
        self._typed_text = TypedText(job.room, self._on_typed)
        self._reports: asyncio.Queue[TurnReport] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._silence = SilenceWatch(
            self._session,
            ask=lambda: self._spawn(self._ask_whether_there()),
            give_up=lambda: self._spawn(self._give_up()),
            is_waiting=lambda: self._phone is not None and self._phone.is_waiting,
        )
        self._voice: RoomAudioOutput | None = None
        self._ending = False

    @property
    def room_name(self) -> str:
        """Name of the LiveKit room."""
        return self._job.room.name

    async def start(self) -> None:
        """Join the room and greet the caller."""
        session = self._session
        TurnMeter(self._reports.put_nowait, self._caller_is_present).attach(session)
        self._silence.attach()
        Apologies(
            session,
            self._persona,
            say=lambda words: self._spawn(self._say(words)),
            may_be_silent=lambda: (
                self._ending or (self._phone is not None and self._phone.is_waiting)
            ),
        ).attach()
        session.on("close", self._on_close)
        self._job.add_shutdown_callback(self._stop)
        self._typed_text.open()
        if self._phone is not None:
            self._phone.open()
        self._spawn(self._send_reports())
        if not self._job.is_fake_job():  # the console has a sound card
            session.output.audio = self._voice = RoomAudioOutput(self._job.room, OUTPUT_RATE_HZ)
            self._spawn(self._open_voice(self._voice))
        await session.start(
            self._agents.first(),
            room=self._job.room,
            room_options=room_options(self._settings),
            session_host=False,
            record=False,
        )
        logger.info("call started", extra={"persona": self._persona.name})

    async def _open_voice(self, voice: RoomAudioOutput) -> None:
        await self._job.connect()
        await voice.open()

    def _make_phone(self, caller: PhoneCaller) -> PhoneCall:
        settings = self._settings
        return PhoneCall(
            self._job,
            caller,
            self._persona.phone,
            on_text=lambda text: self._spawn(self._on_typed(text)),
            on_begin=lambda: self._spawn(self._fall_silent()),
            on_over=self._leave,
            trunk_id=settings.phone_trunk,
            tokeniser=tokeniser_for(settings.card_tokeniser, settings.card_tokeniser_key),
        )

    def _leave(self) -> None:
        """Hang up without a word: there is nobody to say one to."""
        self._ending = True
        self._session.shutdown(drain=True)

    async def mark_handoff(self) -> None:
        """Show in the room that a person is wanted."""
        if self._job.room.isconnected():
            await self._job.room.local_participant.set_attributes({HANDOFF_ATTRIBUTE: "requested"})

    def end_after(self, speech: SpeechHandle) -> None:
        """Hang up once this speech, and the farewell where it held none, is heard."""
        if not self._ending:
            self._ending = True
            speech.add_done_callback(lambda speech: self._spawn(self._hang_up(speech)))

    async def _hang_up(self, last: SpeechHandle | None = None) -> None:
        if last is None or not any(is_spoken(item) for item in last.chat_items):
            await self._say(self._persona.farewell, allow_interruptions=False)
        self._session.shutdown(drain=True)

    async def _say(self, text: str, *, allow_interruptions: bool = True) -> None:
        try:
            speech = self._session.say(text, allow_interruptions=allow_interruptions)
        except RuntimeError as error:
            logger.info("nothing said, the session is closing", extra={"reason": str(error)})
            return
        await speech.wait_for_playout()

    async def _on_typed(self, text: str) -> None:
        if self._ending:
            return
        self._session.reset_away_timer()
        await self._fall_silent()
        try:
            self._session.generate_reply(user_input=redact(text))
        except RuntimeError as error:
            logger.info("typed message came too late", extra={"reason": str(error)})

    async def _fall_silent(self) -> None:
        try:
            await self._session.interrupt()
        except RuntimeError:
            logger.debug("the caller waits for speech that may not be interrupted")

    def _warm_soon(self, instructions: str, tools: Sequence[llm.Tool]) -> None:
        model = self._session.llm
        if isinstance(model, LLM | FallbackLLM):
            self._spawn(_warm(model, instructions, tools))

    def _caller_is_present(self) -> bool:
        return bool(self._job.room.remote_participants)

    async def _ask_whether_there(self) -> None:
        if not self._ending:
            await self._say(self._persona.silence_prompt)
            self._silence.asked()

    async def _give_up(self) -> None:
        if not self._ending:
            self._ending = True
            await self._hang_up()

    def _on_close(self, event: CloseEvent) -> None:
        logger.info("call ended", extra={"reason": event.reason.value})
        if event.reason is not CloseReason.JOB_SHUTDOWN:
            # a job that is only moved elsewhere leaves the caller in the room; all else hangs up
            self._job.add_shutdown_callback(self._delete_room)
            self._job.shutdown(reason=event.reason.value)

    async def _delete_room(self) -> None:
        await self._job.delete_room()

    async def _send_reports(self) -> None:
        while True:
            report = await self._reports.get()
            if not self._job.room.isconnected():
                continue
            try:
                await self._job.room.local_participant.send_text(
                    report.model_dump_json(), topic=TURN_TOPIC
                )
            except (rtc.StreamError, rtc.ConnectError, RuntimeError) as error:
                logger.warning("turn report not sent", extra={"reason": str(error)})

    async def _stop(self) -> None:
        await self._typed_text.close()
        if self._phone is not None:
            await self._phone.aclose()
        await self._agents.aclose()
        for model in (self._session.stt, self._session.llm, self._session.tts):
            # the framework closes streams and leaves the models' connections to us
            if isinstance(model, stt.STT | llm.LLM | tts.TTS):
                await model.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._voice is not None:
            await self._voice.aclose()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("task of the call failed", exc_info=error)


async def answer(job: JobContext, settings: AgentSettings) -> None:
    """Serve one job; the entry point of a job process."""
    redact_framework_logs()
    caller = await phone_caller_of(job)
    try:
        # several files may have to be read
        persona = await asyncio.to_thread(
            persona_for, job.job.metadata, settings, caller.dialled if caller else None
        )
    except PersonaError as error:
        await _refuse(job, str(error))
        return
    connections = McpConnections()
    job.add_shutdown_callback(connections.aclose)
    mcp_tools = await connect_mcp(persona, connections)
    await Call(job, settings, persona, mcp_tools, caller).start()


async def _refuse(job: JobContext, reason: str) -> None:
    """Tell the caller's client why nobody answers, and hang up."""
    logger.error("call refused", extra={"reason": reason})
    await job.connect()
    read = asyncio.Event()
    job.room.on("participant_disconnected", lambda _: read.set())
    await job.room.local_participant.set_attributes({ERROR_ATTRIBUTE: reason})
    with suppress(TimeoutError):
        # a client that reads the reason hangs up by itself
        await asyncio.wait_for(read.wait(), REFUSAL_S)
    await job.delete_room()
    job.shutdown(reason="refused")


async def _warm(model: LLM | FallbackLLM, instructions: str, tools: Sequence[llm.Tool]) -> None:
    try:
        await model.warm_prefix(instructions, tools)
    except OpenAIError as error:
        # the next agent's first turn pays instead
        logger.warning("prefix of the next agent is not warm", extra={"error": str(error)})
