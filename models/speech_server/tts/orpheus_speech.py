"""One segment being spoken by Orpheus: its tokens so far, its audio, and what may go wrong."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, Literal

from speech_server.audio.pcm import PcmFloat, float_to_int16
from speech_server.metrics import CUT_SHORT, TOKENS, TOKENS_BEFORE_AUDIO
from speech_server.tts.engine import Pcm16
from speech_server.tts.orpheus_codes import (
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    Frame,
    FrameAssembler,
    TokensOutOfOrder,
    token_ids,
)
from speech_server.tts.orpheus_prompt import Prompt
from speech_server.tts.orpheus_watchdog import LoopDetector, SilenceDetector
from speech_server.tts.token_source import GenerationFailed, TokenSource
from speech_server.tts.voice_codec import CodecStream

logger = logging.getLogger(__name__)

_ENGINE: Final = "orpheus"

FaultReason = Literal["codes", "loop", "silence", "stall", "engine", "nothing"]


class SpeechFault(Exception):
    """The model went astray; the segment can be taken up again after its last good frame."""

    def __init__(self, reason: FaultReason) -> None:
        super().__init__(reason)
        self.reason: FaultReason = reason


class OrpheusSpeech:
    """One segment.

    Args:
        prompt: what to say.
        source: the language model.
        codec: the segment's audio.
        stall_s: longest wait for the next token, seconds.
        lead: frames that the model is made to begin with.
    """

    def __init__(
        self,
        prompt: Prompt,
        source: TokenSource,
        codec: CodecStream,
        stall_s: float,
        lead: Sequence[Frame] = (),
    ) -> None:
        self._prompt = prompt
        self._source = source
        self._codec = codec
        self._stall_s = stall_s
        self._lead = list(lead)
        """The lead, until the codec has it: before the first frame of the model's own."""
        self.frames = list(lead)
        """The good frames so far."""
        self._silence = SilenceDetector(SAMPLE_RATE_HZ)
        self._tokens = 0
        self._heard_frames = 0
        """Frames given to the codec so far, good or not."""
        self.samples = 0
        """Samples made so far."""

    async def run(self) -> AsyncGenerator[Pcm16, None]:
        """Speak, from the start or from where the last run broke off.

        Yields:
            int16, (samples,), 24 kHz.

        Raises:
            SpeechFault: the model went astray; run again to go on.
            SourceDied: the model is gone.
        """
        assembler = FrameAssembler()
        loops = LoopDetector()
        spoken = tuple(id_ for frame in self.frames for id_ in token_ids(frame))
        async with aclosing(self._source.generate(self._prompt, spoken)) as steps:
            while not assembler.ended:
                ids = await self._next(steps)
                if ids is None:
                    self._cut_short("runaway")
                    break
                frames, fault = self._take(ids, assembler, loops)
                for pcm in self._made(await self._push(frames)):
                    yield pcm
                if fault is not None:
                    raise fault
                if self._silence.too_long and self._ends_in_silence():
                    break
        if not self._heard_frames:
            # It may be the lead that has nothing behind it.
            self.frames, self._lead = [], []
            raise SpeechFault("nothing")
        for pcm in self._made(await self._codec.flush()):
            yield pcm

    async def _next(self, steps: AsyncGenerator[Sequence[int], None]) -> Sequence[int] | None:
        """The tokens of the next step; None when the budget is used up."""
        try:
            async with asyncio.timeout(self._stall_s):
                ids = await anext(steps)
        except StopAsyncIteration:
            return None
        except TimeoutError as error:
            raise SpeechFault("stall") from error
        except GenerationFailed as error:
            raise SpeechFault("engine") from error
        self._tokens += len(ids)
        TOKENS.labels(_ENGINE).inc(len(ids))
        return ids

    def _take(
        self, ids: Sequence[int], assembler: FrameAssembler, loops: LoopDetector
    ) -> tuple[list[Frame], SpeechFault | None]:
        """Turn tokens into frames, up to the first that is not good."""
        frames: list[Frame] = []
        for id_ in ids:
            try:
                whole = assembler.push(id_)
            except TokensOutOfOrder:
                return frames, SpeechFault("codes")
            for frame in whole:
                frames.append(frame)
                self.frames.append(frame)
                if repeated := loops.push(frame):
                    self._forget(repeated)
                    return frames, SpeechFault("loop")
        return frames, None

    async def _push(self, frames: list[Frame]) -> list[PcmFloat]:
        if frames:
            frames, self._lead = [*self._lead, *frames], []
        self._heard_frames += len(frames)
        return await self._codec.push(frames)

    def _made(self, pieces: list[PcmFloat]) -> list[Pcm16]:
        pcm16 = [float_to_int16(piece) for piece in pieces if len(piece)]
        if pcm16 and not self.samples:
            TOKENS_BEFORE_AUDIO.labels(_ENGINE).observe(self._tokens)
        for pcm in pcm16:
            self.samples += len(pcm)
            self._silence.push(pcm)
        return pcm16

    def _ends_in_silence(self) -> bool:
        """Whether the model has said what it had to before it fell silent.

        Raises:
            SpeechFault: it has not.
        """
        if self._silence.spoken_samples >= self._prompt.shortest_s * SAMPLE_RATE_HZ:
            self._cut_short("silence")
            return True
        spoken_frames = math.ceil(self._silence.spoken_samples / FRAME_SAMPLES)
        self._forget(self._heard_frames - spoken_frames)
        self._silence.restart()
        raise SpeechFault("silence")

    def _forget(self, frames: int) -> None:
        """Leave the last frames out of what the next run goes on from."""
        del self.frames[max(0, len(self.frames) - frames) :]

    def _cut_short(self, reason: Literal["runaway", "silence"]) -> None:
        CUT_SHORT.labels(_ENGINE, reason).inc()
        logger.warning(
            "a segment was ended because the voice model did not end it",
            extra={"reason": reason, "tokens": self._tokens},
        )
