"""Two voices on the same tokens: our engine, and the reference's window as a streaming voice.

Both are asked in this process, get their tokens from the same scripted model at the same pace and
decode with the same SNAC in one thread of their own.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

from bench.tts.playout import Piece
from bench.tts.scripted_source import ScriptedSource
from bench.tts.snac_work import REFERENCE_FRAMES
from bench.tts.wires import Spoken
from speech_server.audio.pcm import float_to_int16
from speech_server.errors import SpeechError
from speech_server.tts.engine import Pcm16, Segment
from speech_server.tts.orpheus import OrpheusEngine
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Frame, FrameAssembler, codes_of
from speech_server.tts.orpheus_prompt import VOICES, build_prompt
from speech_server.tts.snac_codec import SnacCodec
from speech_server.tts.snac_decoder import load_snac
from speech_server.tts.snac_stream import Window
from speech_server.tts.token_source import GenerationFailed

VOICE = VOICES[0].id


class CodeVoice(Protocol):
    """A voice that makes a text's tokens audible."""

    def pieces(self, text: str) -> AsyncGenerator[Pcm16, None]:
        """Speak: int16, (samples,), 24 kHz."""


class OurVoice:
    """The Orpheus engine as it is, with its language model written down.

    Args:
        source: the language model.
        snac: SNAC's files; see `load_snac`.
    """

    def __init__(self, source: ScriptedSource, snac: Path) -> None:
        self._codec = SnacCodec(snac)
        self._engine = OrpheusEngine(source, self._codec)

    async def start(self) -> None:
        """Load the codec; the engine's own `load` would speak a text that is not written down.

        Raises:
            EngineFailed: it cannot be loaded.
        """
        await self._codec.start()

    async def close(self) -> None:
        await self._engine.close()

    async def pieces(self, text: str) -> AsyncGenerator[Pcm16, None]:
        """See `CodeVoice`."""
        async with aclosing(self._engine.synthesize(Segment(text, VOICE))) as chunks:
            async for chunk in chunks:
                if len(chunk.pcm):
                    yield chunk.pcm


class ReferenceVoice:
    """The reference's window and order of work; see `bench/tts/snac_work.py`.

    Args:
        source: the language model.
        snac: SNAC's files; see `load_snac`.
    """

    def __init__(self, source: ScriptedSource, snac: Path) -> None:
        self._source = source
        self._folder = snac
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reference")

    async def start(self) -> None:
        """Load the codec.

        Raises:
            SnacUnavailable: it cannot be loaded.
        """
        self._snac = await asyncio.to_thread(load_snac, self._folder)

    async def close(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)

    async def pieces(self, text: str) -> AsyncGenerator[Pcm16, None]:
        """See `CodeVoice`."""
        loop = asyncio.get_running_loop()
        assembler = FrameAssembler()
        frames: list[Frame] = []
        prompt = build_prompt(text, VOICE, self._source.encode)
        async with aclosing(self._source.generate(prompt)) as steps:
            async for ids in steps:
                for id_ in ids:
                    if not (whole := assembler.push(id_)):
                        continue
                    frames = [*frames, *whole][-REFERENCE_FRAMES:]
                    if len(frames) < REFERENCE_FRAMES:
                        continue
                    window = Window(codes_of(frames))
                    audio = await loop.run_in_executor(self._thread, self._snac.decode, window)
                    yield float_to_int16(audio[FRAME_SAMPLES : 2 * FRAME_SAMPLES])


class CodeWire:
    """Asks a voice of this process. Implements `Wire`.

    Args:
        voice: which.
    """

    def __init__(self, voice: CodeVoice) -> None:
        self._voice = voice

    async def speak(self, text: str) -> Spoken:
        """See `Wire`."""
        spoken = Spoken(text, time.perf_counter())
        try:
            async with aclosing(self._voice.pieces(text)) as pieces:
                async for pcm in pieces:
                    spoken.pieces.append(Piece(time.perf_counter(), pcm))
        except (SpeechError, GenerationFailed) as error:
            spoken.failure = str(error)
        else:
            spoken.failure = "" if spoken.pieces else "no audio"
        return spoken
