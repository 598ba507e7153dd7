import asyncio
from contextlib import aclosing

import pytest

from bench.tts.scripted_source import ScriptedSource
from speech_server.tts.orpheus_codes import END_OF_SPEECH_ID, Frame, token_ids
from speech_server.tts.orpheus_prompt import build_prompt
from speech_server.tts.token_source import GenerationFailed

FRAMES: list[Frame] = [(1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 14), (0, 0, 0, 0, 0, 0, 0)]
IDS = [id_ for frame in FRAMES for id_ in token_ids(frame)] + [END_OF_SPEECH_ID]
FAST = 1e6


def source(tokens_per_s: float = FAST, step: int = 1) -> ScriptedSource:
    return ScriptedSource({"Yes: I can.": FRAMES}, tokens_per_s, step)


async def said(model: ScriptedSource, text: str, spoken: list[int]) -> list[int]:
    prompt = build_prompt(text, "tara", model.encode)
    return [id_ async for ids in model.generate(prompt, spoken) for id_ in ids]


@pytest.mark.parametrize("step", [1, 5, 7, 100])
async def test_the_text_s_own_codes_are_said(step: int) -> None:
    model = source(step=step)
    assert await said(model, "Yes: I can.", []) == IDS
    assert model.made == len(IDS)


async def test_it_goes_on_after_what_was_spoken() -> None:
    assert await said(source(), "Yes: I can.", IDS[:10]) == IDS[10:]


async def test_an_unknown_text_fails_as_a_model_does() -> None:
    with pytest.raises(GenerationFailed, match="Hello"):
        await said(source(), "Hello.", [])


async def test_it_goes_on_by_itself_until_it_is_stopped() -> None:
    model = source(tokens_per_s=10_000)
    prompt = build_prompt("Yes: I can.", "tara", model.encode)
    async with aclosing(model.generate(prompt)) as steps:
        await anext(steps)
        assert not model.idle.is_set()
    async with asyncio.timeout(5):
        await model.idle.wait()
    assert model.made < len(IDS)


async def test_who_reads_late_is_given_what_has_come() -> None:
    model = source()
    prompt = build_prompt("Yes: I can.", "tara", model.encode)
    async with aclosing(model.generate(prompt)) as steps:
        first = await anext(steps)
        async with asyncio.timeout(5):
            await model.idle.wait()
        assert [*first, *await anext(steps)] == IDS
