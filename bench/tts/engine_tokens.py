"""How many tokens the engine takes until it is heard, and how many are made after a cancel.

The language model is written down and steps by itself, one token at a time (`ScriptedSource`): what
is counted is what the engine does, whatever the machine.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from prometheus_client import REGISTRY

from bench.tts.code_voices import CodeVoice, OurVoice
from bench.tts.playout import lead_s
from bench.tts.scripted_source import ScriptedSource
from speech_server.tts.orpheus_codes import Frame
from voice_agent.caller.sound import Pcm16, audible_indices

Origin = Literal["scripted", "vllm"]
"""What made the tokens: a model that is written down, or vLLM."""
_LATE_S: Final = 60.0
"""By then a model that was not stopped has come to its end."""


@dataclass(frozen=True)
class TokenCounts:
    """Of every text, the worst."""

    before_first_audio: int
    """Tokens when the first audio was made, silent or not: what the reference's 28 count."""
    before_first_sound: int | None
    """Tokens when the first audible sample was handed out: the voice's own silence is in it."""
    after_cancel: int
    """Tokens made after the reader of a reply had been cancelled."""


async def count_scripted(
    answers: Mapping[str, Sequence[Frame]], snac: Path, tokens_per_s: float
) -> tuple[TokenCounts, list[float]]:
    """Speak every text alone, then cancel every text after its first audio.

    Args:
        answers: the texts, and the frames that say them.
        snac: SNAC's files.
        tokens_per_s: pace of the model.

    Returns:
        The counts, and for each text the silence that it opens with after trimming, seconds.

    Raises:
        EngineFailed: SNAC cannot be loaded, or the engine failed.
    """
    source = ScriptedSource(answers, tokens_per_s)
    voice = OurVoice(source, snac)
    await voice.start()
    before_audio, before_sound, after_cancel, leads_s = [], [], [], []
    try:
        for text in answers:
            earlier = _tokens_before_audio()
            until_sound, audio = await _until_sound(voice, source, text)
            before_audio.append(_tokens_before_audio() - earlier)
            before_sound.append(until_sound)
            leads_s.append(lead_s(audio))
            after_cancel.append(await tokens_after_cancel(voice, source, text))
    finally:
        await voice.close()
    counts = TokenCounts(round(max(before_audio)), max(before_sound), max(after_cancel))
    return counts, leads_s


async def _until_sound(voice: OurVoice, source: ScriptedSource, text: str) -> tuple[int, Pcm16]:
    """Tokens made when the first audible piece came, and that piece."""
    before = source.made
    tokens = 0
    first: Pcm16 | None = None
    async with aclosing(voice.pieces(text)) as pieces:
        async for pcm in pieces:
            if first is None and audible_indices(pcm) is not None:
                tokens, first = source.made - before, pcm
    if first is None:
        raise RuntimeError(f"nothing is heard of {text!r}")
    return tokens, first


async def tokens_after_cancel(voice: CodeVoice, source: ScriptedSource, text: str) -> int:
    """Tokens that the model still makes for a reply whose reader is cancelled at its first audio.

    Args:
        voice: speaks.
        source: its language model, which speaks for nobody else.
        text: what is spoken.
    """
    heard = asyncio.Event()

    async def read() -> None:
        async with aclosing(voice.pieces(text)) as pieces:
            async for _ in pieces:
                heard.set()

    reading = asyncio.create_task(read())
    await heard.wait()
    made = source.made
    reading.cancel()
    await asyncio.wait([reading])
    async with asyncio.timeout(_LATE_S):
        await source.idle.wait()
    return source.made - made


def _tokens_before_audio() -> float:
    labels = {"engine": "orpheus"}
    return REGISTRY.get_sample_value("speech_tokens_before_audio_sum", labels) or 0.0
