"""Pipecat's own services in pipelines of their own, pointed at a speech server by its URL alone.

Run by `test_pipecat.py` with the Python of `.venv-pipecat`: Pipecat's pins and ours do not fit into
one environment. Prints one JSON object: the frames that came out, the errors that Pipecat logged,
and the tasks that were still running at the end.
"""

import argparse
import asyncio
import base64
import json
import sys
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.request import urlopen

from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.cartesia.tts import CartesiaTTSService
from pipecat.services.deepgram.stt import DeepgramSTTService
from pipecat.services.openai.stt import OpenAISTTService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.services.tts_service import TextAggregationMode
from pipecat.workers.runner import WorkerRunner

IN_RATE_HZ = 16_000
OUT_RATE_HZ = 24_000
TIMEOUT_S = 30.0
KEPT_DOWNSTREAM = (
    InterimTranscriptionFrame,
    InterruptionFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
Settings = dict[str, Any]


def cartesia(
    url: str, key: str, settings: Settings, mode: TextAggregationMode | None = None
) -> FrameProcessor:
    return CartesiaTTSService(
        api_key=key,
        url=f"{url.replace('http', 'ws', 1)}/tts/websocket",
        text_aggregation_mode=mode,
        settings=CartesiaTTSService.Settings(**settings),
    )


STT: dict[str, Callable[[str, str, Settings], FrameProcessor]] = {
    "deepgram": lambda url, key, settings: DeepgramSTTService(
        api_key=key, base_url=url, settings=DeepgramSTTService.Settings(**settings)
    ),
    "openai": lambda url, key, settings: OpenAISTTService(
        api_key=key, base_url=f"{url}/v1", settings=OpenAISTTService.Settings(**settings)
    ),
}
TTS: dict[str, Callable[[str, str, Settings], FrameProcessor]] = {
    "cartesia": cartesia,
    "cartesia-tokens": partial(cartesia, mode=TextAggregationMode.TOKEN),
    "openai": lambda url, key, settings: OpenAITTSService(
        api_key=key, base_url=f"{url}/v1", settings=OpenAITTSService.Settings(**settings)
    ),
}


class Recording:
    """The frames that left a pipeline, in order, and a way to wait for one."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._changed = asyncio.Condition()

    async def add(self, frame: Frame) -> None:
        async with self._changed:
            self.frames.append(frame)
            self._changed.notify_all()

    async def until(self, kind: type[Frame], after: int = 0) -> None:
        """Wait for a frame of a kind at position `after` or later, or for an error anywhere."""
        async with self._changed, asyncio.timeout(TIMEOUT_S):
            await self._changed.wait_for(
                lambda: (
                    any(isinstance(f, kind) for f in self.frames[after:])
                    or any(isinstance(f, ErrorFrame) for f in self.frames)
                )
            )


class Tap(FrameProcessor):
    """Records frames of some kinds that pass in one direction."""

    def __init__(
        self, recording: Recording, direction: FrameDirection, kinds: tuple[type[Frame], ...]
    ) -> None:
        super().__init__()
        self._recording = recording
        self._direction = direction
        self._kinds = kinds

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if direction is self._direction and isinstance(frame, self._kinds):
            await self._recording.add(frame)
        await self.push_frame(frame, direction)


@asynccontextmanager
async def running(*processors: FrameProcessor) -> AsyncIterator[tuple[PipelineWorker, Recording]]:
    """A started pipeline between two taps; ended with an EndFrame unless it was cancelled."""
    recording = Recording()
    worker = PipelineWorker(
        Pipeline(
            [
                Tap(recording, FrameDirection.UPSTREAM, (ErrorFrame,)),
                *processors,
                Tap(recording, FrameDirection.DOWNSTREAM, KEPT_DOWNSTREAM),
            ]
        ),
        params=PipelineParams(
            audio_in_sample_rate=IN_RATE_HZ, audio_out_sample_rate=OUT_RATE_HZ, enable_metrics=True
        ),
        cancel_on_idle_timeout=False,
        enable_rtvi=False,
    )
    started = asyncio.Event()

    @worker.event_handler("on_pipeline_started")
    async def on_pipeline_started(_worker: PipelineWorker, _frame: Frame) -> None:
        started.set()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    run = asyncio.create_task(runner.run())
    async with asyncio.timeout(TIMEOUT_S):
        await started.wait()
    try:
        yield worker, recording
    except BaseException:
        await worker.cancel()
        raise
    async with asyncio.timeout(TIMEOUT_S):
        if not worker.has_finished():
            await worker.queue_frame(EndFrame())
        await run


async def feed(worker: PipelineWorker, path: str) -> None:
    """Queue a recording in frames of 20 ms."""
    with wave.open(path) as file:
        while piece := file.readframes(IN_RATE_HZ // 50):
            await worker.queue_frame(InputAudioRawFrame(piece, IN_RATE_HZ, 1))


async def say(worker: PipelineWorker, text: str) -> None:
    """Queue a reply as a language model streams it: token by token, each with its blank."""
    await worker.queue_frame(LLMFullResponseStartFrame())
    for number, word in enumerate(text.split(" ")):
        await worker.queue_frame(LLMTextFrame(word if number == 0 else f" {word}"))
    await worker.queue_frame(LLMFullResponseEndFrame())


async def hear(service: FrameProcessor, paths: list[str]) -> Recording:
    """Transcribe recordings of one utterance each, the next when the one before was understood."""
    vad = VADProcessor(vad_analyzer=SileroVADAnalyzer())
    async with running(vad, service) as (worker, recording):
        for path in paths:
            begun = len(recording.frames)
            await feed(worker, path)
            await recording.until(TranscriptionFrame, after=begun)
    return recording


async def hang_up(service: FrameProcessor, paths: list[str]) -> Recording:
    """Cancel the pipeline while the caller speaks."""
    vad = VADProcessor(vad_analyzer=SileroVADAnalyzer())
    async with running(vad, service) as (worker, recording):
        await feed(worker, paths[0])
        await recording.until(VADUserStartedSpeakingFrame)
        await worker.cancel()
    return recording


async def speak(service: FrameProcessor, texts: list[str]) -> Recording:
    """Speak replies one after another."""
    async with running(service) as (worker, recording):
        for text in texts:
            begun = len(recording.frames)
            await say(worker, text)
            await recording.until(TTSStoppedFrame, after=begun)
    return recording


async def interrupt(service: FrameProcessor, texts: list[str], url: str) -> Recording:
    """Interrupt the first reply at its first audio; the second is spoken to its end.

    The server must have dropped the first one's work while the pipeline still runs.
    """
    interrupted, after = texts
    cancelled = await cancelled_work(url)
    async with running(service) as (worker, recording):
        await say(worker, interrupted)
        await recording.until(TTSAudioRawFrame)
        await worker.queue_frame(InterruptionFrame())
        await recording.until(InterruptionFrame)
        begun = len(recording.frames)
        await say(worker, after)
        await recording.until(TTSStoppedFrame, after=begun)
        async with asyncio.timeout(TIMEOUT_S):
            while await cancelled_work(url) == cancelled:
                pass  # the answer of /metrics is what is waited for
    return recording


async def cancelled_work(url: str) -> float:
    """How many replies the server was told to stop."""

    def fetch() -> str:
        with urlopen(f"{url}/metrics") as answer:
            return str(answer.read(), "utf-8")

    line = 'speech_work_dropped_total{reason="cancelled",service="tts"} '
    rows = (await asyncio.to_thread(fetch)).splitlines()
    return next((float(row.removeprefix(line)) for row in rows if row.startswith(line)), 0.0)


def described(frame: Frame) -> dict[str, Any]:
    """What a test wants to know of a frame."""
    fields: dict[str, Any] = {"kind": type(frame).__name__}
    for name in ("text", "finalized", "context_id", "error", "sample_rate", "pts"):
        if hasattr(frame, name):
            fields[name] = getattr(frame, name)
    if isinstance(frame, TTSAudioRawFrame):
        fields["audio"] = base64.b64encode(frame.audio).decode()
    return fields


async def main() -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["hear", "hang-up", "speak", "interrupt"])
    parser.add_argument("service")
    parser.add_argument("url")
    parser.add_argument("key")
    parser.add_argument("inputs", nargs="+", help="WAV files of 16 kHz, or texts")
    parser.add_argument("--settings", type=json.loads, default={})
    asked = parser.parse_args()
    errors: list[str] = []
    logger.remove()
    logger.add(sys.stderr, level="DEBUG")
    logger.add(errors.append, level="ERROR", format="{message}")
    services = STT if asked.action in {"hear", "hang-up"} else TTS
    service = services[asked.service](asked.url, asked.key, asked.settings)
    actions = {
        "hear": hear,
        "hang-up": hang_up,
        "speak": speak,
        "interrupt": partial(interrupt, url=asked.url),
    }
    recording = await actions[asked.action](service, asked.inputs)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    return {
        "frames": [described(frame) for frame in recording.frames],
        "errors": errors,
        "tasks_left": [str(task) for task in tasks],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))  # noqa: T201
