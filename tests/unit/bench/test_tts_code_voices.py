import asyncio
from collections.abc import AsyncGenerator

import numpy as np
import pytest

from bench.tts.code_voices import CodeWire, OurVoice, ReferenceVoice
from bench.tts.engine_tokens import count_scripted, tokens_after_cancel
from bench.tts.scripted_source import ScriptedSource
from bench.tts.snac_work import reference
from speech_server.audio.pcm import float_to_int16
from speech_server.errors import EngineFailed
from speech_server.tts.engine import Pcm16
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, codes_of
from speech_server.tts.orpheus_prompt import build_prompt
from speech_server.tts.snac_decoder import load_snac
from tests.tiny_voice import SNAC_FOLDER, sentences

TEXT = min(sentences(), key=lambda text: len(sentences()[text]))
FAST = 1e5


async def spoken(voice: OurVoice | ReferenceVoice) -> Pcm16:
    await voice.start()
    try:
        return np.concatenate([pcm async for pcm in voice.pieces(TEXT)])
    finally:
        await voice.close()


async def test_the_reference_says_what_its_window_gives() -> None:
    pcm = await spoken(ReferenceVoice(ScriptedSource(sentences(), FAST), SNAC_FOLDER))
    wanted = reference(load_snac(SNAC_FOLDER, "cpu"), codes_of(sentences()[TEXT])).audio
    assert (pcm == float_to_int16(wanted)).all()
    assert len(pcm) == (len(sentences()[TEXT]) - 3) * FRAME_SAMPLES


async def test_ours_says_more() -> None:
    pcm = await spoken(OurVoice(ScriptedSource(sentences(), FAST), SNAC_FOLDER))
    # All but the silence before the first word.
    assert len(pcm) > (len(sentences()[TEXT]) - 5) * FRAME_SAMPLES


async def test_tokens_are_counted_until_audio_and_after_a_cancel() -> None:
    longest = max(sentences(), key=lambda text: len(sentences()[text]))
    answers = {text: sentences()[text] for text in (TEXT, longest)}
    counts, leads_s = await count_scripted(answers, SNAC_FOLDER, 300.0)
    assert counts.before_first_audio == 14
    assert counts.before_first_sound is not None
    assert counts.before_first_sound >= 14
    assert counts.after_cancel <= 7
    assert len(leads_s) == 2
    assert max(leads_s) <= 0.04


class Deaf:
    """A voice that does not tell its model that nobody listens any more."""

    def __init__(self, source: ScriptedSource) -> None:
        self._source = source

    async def pieces(self, text: str) -> AsyncGenerator[Pcm16, None]:
        steps = self._source.generate(build_prompt(text, "tara", self._source.encode))
        self.kept = asyncio.create_task(self._read_on(steps))
        yield np.zeros(1, np.int16)
        await self.kept

    async def _read_on(self, steps: AsyncGenerator[object, None]) -> None:
        async for _ in steps:
            pass


async def test_a_model_that_is_not_stopped_is_noticed() -> None:
    source = ScriptedSource(sentences(), 1000.0)

    class Careless(Deaf):
        async def _read_on(self, steps: AsyncGenerator[object, None]) -> None:
            await asyncio.shield(asyncio.ensure_future(super()._read_on(steps)))

    made = await tokens_after_cancel(Careless(source), source, TEXT)
    assert made == 7 * len(sentences()[TEXT]) + 1


async def test_a_voice_that_fails_is_told() -> None:
    class Broken:
        async def pieces(self, text: str) -> AsyncGenerator[Pcm16, None]:
            yield np.zeros(10, np.int16)
            raise EngineFailed("it broke")

    result = await CodeWire(Broken()).speak("Yes.")
    assert result.failure == "it broke"
    assert len(result.pieces) == 1


@pytest.mark.parametrize("voice", [OurVoice, ReferenceVoice])
async def test_a_text_that_is_not_written_down_is_not_spoken(voice: type) -> None:
    asked = voice(ScriptedSource(sentences(), FAST), SNAC_FOLDER)
    await asked.start()
    assert (await CodeWire(asked).speak("Something else.")).failure
    await asked.close()
