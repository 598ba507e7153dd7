"""The plain LiveKit wiring, to be measured beside ours: stock plugins and a default session.

    python -m bench.stock_agent start

LiveKit's `openai` plugins for speech to text, the language model and the voice, at the servers that
our agent uses; every option of `AgentSession` as it is by default, the turn detector the one that
is inside the wheel. Three things are told, because the defaults would call LiveKit's cloud or turn
callers away: the detector's local version, interruptions by VAD (what the default falls back to
without the cloud), and no refusal by CPU load. The voice is asked for raw audio, the quickest of
the plugin's formats, and is the same voice as ours.

Nothing here is shared with our agent but an observer, which reports each turn as ours does.
"""

import asyncio
import json
import os
from dataclasses import dataclass
from functools import partial
from typing import Final

from livekit.agents import Agent, AgentServer, AgentSession, JobContext, cli, inference
from livekit.plugins import openai

from voice_agent.turn_metrics import TurnMeter
from voice_agent.turn_report import TURN_TOPIC, TurnReport

AGENT_NAME: Final = "stock"
"""Name under which it registers; ours keeps its own on the same livekit-server."""
IDLE_PROCESSES: Final = 2
"""Job processes kept warm, as our worker keeps by default."""
INITIALIZE_S: Final = 30.0
"""Longest start of a job process, as our worker allows."""
VOICE: Final = "alloy"
"""OpenAI's name for our speech server's default voice."""


@dataclass(frozen=True)
class Models:
    """Where the models are; the names of the variables are `BENCH_…`."""

    speech_url: str
    """Our speech server, both roles, without a path."""
    llm_url: str
    """OpenAI base URL of the language model, with `/v1`."""
    llm_model: str
    """Model to ask for."""

    def environment(self) -> dict[str, str]:
        """As variables of the worker's environment."""
        return {
            "BENCH_SPEECH_URL": self.speech_url,
            "BENCH_LLM_URL": self.llm_url,
            "BENCH_LLM_MODEL": self.llm_model,
        }

    @classmethod
    def from_environment(cls) -> "Models":
        """Read what `environment` wrote."""
        return cls(
            speech_url=os.environ["BENCH_SPEECH_URL"],
            llm_url=os.environ["BENCH_LLM_URL"],
            llm_model=os.environ["BENCH_LLM_MODEL"],
        )


class StockAgent(Agent):
    """Greets and answers.

    Args:
        instructions: for the model.
        greeting: its first words.
    """

    def __init__(self, instructions: str, greeting: str) -> None:
        super().__init__(instructions=instructions)
        self._greeting = greeting

    async def on_enter(self) -> None:
        """Speak first."""
        self.session.say(self._greeting)


def create_session(models: Models) -> AgentSession:
    """The session with its stock parts."""
    speech = f"{models.speech_url}/v1"
    return AgentSession(
        stt=openai.STT(base_url=speech, api_key="none"),
        llm=openai.LLM(base_url=models.llm_url, model=models.llm_model, api_key="none"),
        tts=openai.TTS(
            base_url=speech, api_key="none", model="tts-1", voice=VOICE, response_format="pcm"
        ),
        turn_handling={
            "turn_detection": inference.TurnDetector(version="v1-mini"),
            "interruption": {"mode": "vad"},
        },
    )


async def answer(job: JobContext, models: Models) -> None:
    """Serve one call.

    Args:
        job: its metadata is a JSON object with `instructions` and `greeting`.
        models: where the models are.
    """
    told = json.loads(job.job.metadata)
    session = create_session(models)
    reports: asyncio.Queue[TurnReport] = asyncio.Queue()

    async def send_reports() -> None:
        while True:
            text = (await reports.get()).model_dump_json()
            if job.room.isconnected():
                await job.room.local_participant.send_text(text, topic=TURN_TOPIC)

    TurnMeter(reports.put_nowait, lambda: bool(job.room.remote_participants)).attach(session)
    sending = asyncio.create_task(send_reports())

    async def stop() -> None:
        sending.cancel()

    job.add_shutdown_callback(stop)
    session.on("close", lambda _: job.shutdown())
    await session.start(
        StockAgent(told["instructions"], told["greeting"]), room=job.room, record=False
    )


def create_server(models: Models) -> AgentServer:
    """The worker; it never says that it is full."""
    server = AgentServer(
        host="127.0.0.1",
        port=0,
        load_fnc=_no_load,
        load_threshold=1.0,
        num_idle_processes=IDLE_PROCESSES,
        initialize_process_timeout=INITIALIZE_S,
    )
    server.rtc_session(partial(answer, models=models), agent_name=AGENT_NAME)
    return server


def _no_load(_: AgentServer) -> float:
    return 0.0


if __name__ == "__main__":
    cli.run_app(create_server(Models.from_environment()))
