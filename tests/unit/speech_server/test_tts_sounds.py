"""Sounds that a text asks for, from the text as it streams in to the engine and the word times."""

import pytest

from speech_server.tts.engine import TtsEngineInfo, Voice
from speech_server.tts.stream import Delivery, Reply, ReplyAudio
from tests.unit.speech_server.tone_engine import RATE_HZ, ToneEngine

TEXT = (
    "Oh <laugh>, that costs $5. <SIGH> It is <custom_token_5> <|eot_id|> so <la<laugh>ugh> now <gro"
)


class LaughingEngine(ToneEngine):
    """Knows two sounds and no digits."""

    @property
    def info(self) -> TtsEngineInfo:
        voices = (Voice("a", "en-US"), Voice("b", "de"))
        return TtsEngineInfo(
            "laughing",
            "laughing",
            RATE_HZ,
            voices,
            word_times=True,
            sounds=frozenset({"<laugh>", "<sigh>"}),
            reads_digits=False,
        )


async def speak(engine: ToneEngine, deltas: list[str], voice: str = "a") -> list[str]:
    """Speak a text; the written words that times were told of."""
    reply = Reply(engine, Delivery(voice, RATE_HZ), max_chars=1_000)
    for delta in deltas:
        reply.push(delta)
    reply.end()
    words = [
        word.text
        async for event in reply.events()
        if isinstance(event, ReplyAudio)
        for word in event.words
    ]
    await reply.aclose()
    return words


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1_000])
async def test_the_engine_gets_its_sounds_however_the_text_arrives(step: int) -> None:
    engine = LaughingEngine()
    deltas = [TEXT[start : start + step] for start in range(0, len(TEXT), step)]
    words = await speak(engine, deltas)
    assert [segment.text for segment in engine.segments] == [
        "Oh <laugh>, that costs five dollars.",
        "<sigh> It is so now gro",
    ]
    assert words == ["Oh", "that", "costs", "$5.", "It", "is", "so", "now", "gro"]


async def test_a_voice_of_another_language_gets_digits() -> None:
    engine = LaughingEngine()
    await speak(engine, ["Ha <laugh> 5 €."], voice="b")
    assert [segment.text for segment in engine.segments] == ["Ha <laugh> 5 €."]


async def test_an_engine_that_knows_no_sound_gets_none() -> None:
    engine = ToneEngine()
    await speak(engine, ["<laugh>", " Ha <laugh> $5."])
    assert [segment.text for segment in engine.segments] == ["Ha $5."]
