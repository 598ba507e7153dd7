import asyncio
from contextlib import aclosing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from speech_server.errors import EngineFailed, EngineRestarting
from speech_server.tts.engine import Segment
from speech_server.tts.orpheus import OrpheusEngine, OrpheusOptions
from speech_server.tts.orpheus_codes import (
    END_OF_SPEECH_ID,
    FIRST_AUDIO_ID,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
)
from speech_server.tts.silence import SENTENCE_PAUSE_S
from speech_server.tts.token_source import GenerationFailed, SourceDied
from tests.unit.speech_server.fake_voice import (
    STALL,
    FakeCodec,
    FakeSource,
    Script,
    chunks_of,
    engine_of,
    ids_of,
    numbers_heard,
    pcm_of,
    said,
    silent_frame,
)

TEXT = "Hello there."


async def spoken(engine: OrpheusEngine, text: str = TEXT, voice: str = "tara") -> list[int]:
    return numbers_heard(pcm_of(await chunks_of(engine, Segment(text, voice))))


def resumed(reason: str) -> float:
    labels = {"engine": "orpheus", "reason": reason}
    return REGISTRY.get_sample_value("speech_segments_resumed_total", labels) or 0.0


def cut_short(reason: str) -> float:
    labels = {"engine": "orpheus", "reason": reason}
    return REGISTRY.get_sample_value("speech_segments_cut_short_total", labels) or 0.0


@given(frames=st.integers(1, 40), steps=st.lists(st.integers(1, 60), min_size=1, max_size=20))
async def test_every_frame_is_heard_in_order_however_the_tokens_come(
    frames: int, steps: list[int]
) -> None:
    engine, source = engine_of(said(*range(1, frames + 1)))
    source.steps = steps
    assert await spoken(engine) == list(range(1, frames + 1))


async def test_one_frame_is_enough() -> None:
    engine, _ = engine_of(said(1))
    assert await spoken(engine) == [1]


async def test_a_frame_cut_short_is_left_out() -> None:
    engine, source = engine_of([*ids_of(1, 2), *ids_of(3)[:5], END_OF_SPEECH_ID])
    assert await spoken(engine) == [1, 2]
    assert len(source.requests) == 1


async def test_a_single_stray_token_costs_one_frame_at_most() -> None:
    stray = [*ids_of(1), *ids_of(2)[:3], 17, *ids_of(2)[3:], *ids_of(3)[:4], *ids_of(4)]
    engine, source = engine_of([*stray, END_OF_SPEECH_ID])
    assert await spoken(engine) == [1, 2, 4]
    assert len(source.requests) == 1


@pytest.mark.parametrize("text", ["", " ", "!?", "<custom_token_5>", "🙂🙂", "<|>", "<|eot_id|>"])
async def test_text_without_a_word_asks_nothing_of_the_model(text: str) -> None:
    engine, source = engine_of(said(1))
    assert await spoken(engine, text) == []
    assert source.requests == []


async def test_a_text_that_is_too_long_for_the_model_is_refused() -> None:
    engine, source = engine_of(said(1))
    with pytest.raises(EngineFailed, match="prompt of"):
        await spoken(engine, "word " * 10_000)
    assert source.requests == []


class TestTakenUpAgain:
    @pytest.mark.parametrize(
        ("trouble", "reason"),
        [
            ([STALL], "stall"),
            ([GenerationFailed("broken")], "engine"),
            ([FIRST_AUDIO_ID - 1] * 40, "codes"),
            ([FIRST_AUDIO_ID + 7 * 4096] * 40, "codes"),
            (ids_of(*range(50, 80))[1::7] * 2, "codes"),
        ],
        ids=["stall", "engine error", "below the codes", "above the codes", "wrong slots"],
    )
    async def test_after_the_last_good_frame_without_a_seam(
        self, trouble: Script, reason: str
    ) -> None:
        before = resumed(reason)
        engine, source = engine_of([*ids_of(1, 2), *ids_of(3)[:4], *trouble], said(3, 4))
        assert await spoken(engine) == [1, 2, 3, 4]
        (first_prompt, nothing), (second_prompt, given_back) = source.requests
        assert first_prompt == second_prompt
        assert nothing == []
        assert given_back == ids_of(1, 2)
        assert source.running == 0
        assert resumed(reason) == before + 1

    async def test_before_the_repetitions_of_a_loop(self) -> None:
        engine, source = engine_of(ids_of(1, 2, *[3] * 100), said(4))
        heard = await spoken(engine)
        assert source.requests[1][1] == ids_of(1, 2, 3)
        # What was heard of the loop was heard: a second of it, and then the words after it.
        assert heard == [1, 2, *[3] * 13, 4]

    async def test_when_the_model_says_nothing(self) -> None:
        engine, source = engine_of([END_OF_SPEECH_ID], said(1))
        assert await spoken(engine) == [1]
        assert len(source.requests) == 2

    async def test_when_it_falls_silent_before_it_can_have_said_the_text(self) -> None:
        silence = [id_ for number in range(60) for id_ in silent_frame(number)]
        engine, source = engine_of([*ids_of(11, 12), *silence], said(13))
        heard = await spoken(engine, "A text that takes several seconds to say, surely it does.")
        assert heard[:2] == [11, 12]
        assert heard[-1] == 13
        assert set(heard[2:-1]) == {0}
        assert source.requests[1][1] == ids_of(11, 12)

    async def test_once_then_the_error_is_clear(self) -> None:
        engine, source = engine_of([*ids_of(1), GenerationFailed("x")])
        with pytest.raises(EngineFailed, match="went wrong twice on this text"):
            await spoken(engine)
        assert len(source.requests) == 2


async def test_silence_before_and_behind_the_speech_is_cut() -> None:
    silence = [id_ for number in range(3) for id_ in silent_frame(number)]
    engine, _ = engine_of([*silence, *ids_of(1, 2), *silence, END_OF_SPEECH_ID])
    pcm = pcm_of(await chunks_of(engine, Segment(TEXT, "tara")))
    onset = int(np.flatnonzero(pcm)[0])
    assert onset <= 0.03 * SAMPLE_RATE_HZ
    assert numbers_heard(pcm[onset : onset + 2 * FRAME_SAMPLES]) == [1, 2]
    assert len(pcm) - onset - 2 * FRAME_SAMPLES <= (SENTENCE_PAUSE_S + 0.01) * SAMPLE_RATE_HZ


async def test_silence_after_the_words_ends_the_segment() -> None:
    before = cut_short("silence")
    silence = [id_ for number in range(500) for id_ in silent_frame(number)]
    engine, source = engine_of([*ids_of(*range(1, 20)), *silence])
    pcm = pcm_of(await chunks_of(engine, Segment("Yes.", "tara")))
    assert numbers_heard(pcm[: 19 * FRAME_SAMPLES]) == list(range(1, 20))
    assert len(pcm) < (19 + 40) * FRAME_SAMPLES
    assert len(source.requests) == 1
    assert source.running == 0
    assert cut_short("silence") == before + 1


async def test_a_model_that_does_not_stop_is_stopped() -> None:
    before = cut_short("runaway")
    engine, source = engine_of(ids_of(*range(1, 9)))
    assert await spoken(engine) == list(range(1, 9))
    assert len(source.requests) == 1
    assert cut_short("runaway") == before + 1


class TestCancelled:
    async def test_closing_ends_the_request(self) -> None:
        engine, source = engine_of(said(*range(1, 100)))
        async with aclosing(engine.synthesize(Segment(TEXT, "tara"))) as chunks:
            await anext(chunks)
            assert source.running == 1
        assert source.running == 0

    async def test_cancelling_the_reader_ends_the_request(self) -> None:
        source = FakeSource([[*ids_of(1), STALL]])
        engine = OrpheusEngine(source, FakeCodec(), OrpheusOptions(stall_s=60.0))
        reading = asyncio.create_task(spoken(engine))
        await source.stalled.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert source.running == 0
        assert len(source.requests) == 1


class TestModelDied:
    async def test_is_told_and_it_is_started_again(self) -> None:
        engine, source = engine_of([*ids_of(1), SourceDied("gone")], said(5))
        for _ in range(2):
            with pytest.raises(EngineRestarting, match="being started again") as told:
                await spoken(engine)
            assert told.value.retryable
        assert engine._restart is not None
        await engine._restart
        assert (source.closes, source.starts) == (1, 1)
        assert await spoken(engine) == [5]

    async def test_a_failed_start_is_tried_again_until_it_runs(self) -> None:
        engine, source = engine_of([SourceDied("gone")], said(5))
        source.start_failures = [EngineFailed("no memory"), EngineFailed("no memory")]
        with pytest.raises(EngineRestarting):
            await spoken(engine)
        assert engine.recovering
        assert engine._restart is not None
        await engine._restart
        assert source.starts == 3
        assert engine.recovering is None
        assert await spoken(engine) == [5]


async def test_loading_runs_model_and_codec() -> None:
    codec = FakeCodec()
    source = FakeSource()
    engine = OrpheusEngine(source, codec)
    await engine.load()
    assert codec.started
    assert len(source.requests) == 1
    assert source.requests[0][0].budget == 28
    await engine.close()
    assert codec.closed
    assert source.closes == 1


async def test_loading_says_what_is_wrong() -> None:
    engine = OrpheusEngine(FakeSource([[GenerationFailed("the model is broken")]]), FakeCodec())
    with pytest.raises(EngineFailed, match="the model is broken"):
        await engine.load()
