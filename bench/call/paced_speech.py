"""The speech server with engines that take a GPU's time: for the simulated table only.

    python -m bench.call.paced_speech --port 8000 --recorded-set .parley/bench --stt 0.03 \
        --preflight 0.03 --first-audio 0.06 --speed 8

The server is the real one: wires, voice activity, batching, segments. What speaks is the built-in
voice at a set pace; what listens knows the bench's recorded set by its sound and makes no
mistakes.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Final

import uvicorn

from bench.call.answers import (
    DISCLOSURE,
    GREETING,
    LONG_INSTRUCTIONS,
    SHORT_INSTRUCTIONS,
    reply_to,
)
from bench.call.rehearsed_voice import RehearsedVoice
from bench.call.simulated_hearing import SimulatedHearing
from bench.call.spoken_words import spoken_words
from bench.turns.recorded_set import recorded_set
from speech_server.app import create_app
from speech_server.memory import return_freed_memory
from speech_server.settings import SpeechServerSettings
from speech_server.stt.service import SttService
from speech_server.tts.engine import Segment, SpeechChunk, TtsEngine, TtsEngineInfo, WordTime
from speech_server.tts.service import TtsService, build_engine

CODEC_FRAME_S: Final = 2048 / 24_000
"""Audio comes in frames of this length, as Orpheus's does.

Source: canopyai/Orpheus-TTS: 7 tokens a frame, 2,048 samples at 24 kHz.
"""

CAPACITY_STREAMS: Final = 64
"""More than the bench's callers: admission is not what is measured."""
_TURNS: Final = 8
"""So many turns of a call are rehearsed; the script's answers come again sooner."""


class PacedEngine:
    """A `TtsEngine` that gives another one's audio at a set pace.

    Args:
        engine: who really speaks.
        first_audio_s: wait for a segment's first frame, seconds.
        speed: audio made in the time that it lasts; 8 is eight times real time.
    """

    def __init__(self, engine: TtsEngine, first_audio_s: float, speed: float) -> None:
        self._engine = engine
        self._first_audio_s = first_audio_s
        self._speed = speed

    @property
    def info(self) -> TtsEngineInfo:
        """That of the engine that speaks."""
        return self._engine.info

    async def load(self) -> None:
        """Load the engine."""
        await self._engine.load()

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Speak one segment, frame by frame."""
        due_s = time.monotonic() + self._first_audio_s
        rate_hz = self.info.sample_rate_hz
        frame_samples = round(CODEC_FRAME_S * rate_hz)
        given = 0
        words: tuple[WordTime, ...] = ()
        async with aclosing(self._engine.synthesize(segment)) as chunks:
            async for chunk in chunks:
                words += chunk.words
                for start in range(0, len(chunk.pcm), frame_samples):
                    await asyncio.sleep(max(0.0, due_s - time.monotonic()))
                    pcm = chunk.pcm[start : start + frame_samples]
                    given += len(pcm)
                    begun = tuple(word for word in words if word.start_s < given / rate_hz)
                    yield SpeechChunk(pcm, begun)
                    words = words[len(begun) :]
                    due_s += len(pcm) / rate_hz / self._speed

    async def close(self) -> None:
        """Free the engine."""
        await self._engine.close()


def replies() -> list[str]:
    """All that an agent of the bench says."""
    conversations = (
        [{"role": "system", "content": instructions}, *[{"role": "user"}] * asked]
        for instructions in (SHORT_INSTRUCTIONS, LONG_INSTRUCTIONS)
        for asked in range(1, _TURNS + 1)
    )
    return list(dict.fromkeys((DISCLOSURE, GREETING, *map(reply_to, conversations))))


def main() -> None:
    """Serve both roles until told to end."""
    parser = argparse.ArgumentParser(description="A speech server with simulated engines")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--recorded-set", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--stt", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--preflight", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--first-audio", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--speed", type=float, required=True)
    options = parser.parse_args()
    settings = SpeechServerSettings(
        stt_capacity_streams=CAPACITY_STREAMS,
        tts_capacity_streams=CAPACITY_STREAMS,
        stt_preflight_silence_s=options.preflight,
    )
    return_freed_memory()
    recorded = recorded_set(options.recorded_set)
    hearing = SimulatedHearing(recorded, asyncio.run(spoken_words(recorded)), options.stt)
    rehearsed = RehearsedVoice(build_engine(settings), replies())
    voice = PacedEngine(rehearsed, options.first_audio, options.speed)
    app = create_app(settings, [SttService(settings, hearing), TtsService(settings, voice)])
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=options.port,
        log_level="warning",
        access_log=False,
        ws_per_message_deflate=False,
    )


if __name__ == "__main__":
    main()
