"""What the engine remembers of its voices and replies, and does with it."""

import gc
from contextlib import aclosing

import numpy as np

from speech_server.tts.engine import Segment
from speech_server.tts.orpheus_codes import (
    END_OF_AI_ID,
    END_OF_SPEECH_ID,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
)
from speech_server.tts.orpheus_memory import MAX_TURN_TOKENS
from tests.unit.speech_server.fake_voice import (
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


class TestGivenSilence:
    LEAD = (1, 2, 3)

    def script(self, *numbers: int) -> Script:
        lead = [id_ for number in self.LEAD for id_ in silent_frame(number)]
        return [*lead, *said(*numbers)]

    async def test_a_voice_s_first_silence_begins_its_next_segments(self) -> None:
        engine, source = engine_of(self.script(4), said(5), said(6), give_silence=True)
        heard = [pcm_of(await chunks_of(engine, Segment(TEXT, "tara"))) for _ in range(3)]
        # The sound begins within 10 ms that began in the third frame: that one may be part of it.
        lead = [id_ for number in self.LEAD[:2] for id_ in silent_frame(number)]
        assert [given for _, given in source.requests] == [[], lead, lead]
        for pcm, number in zip(heard, (4, 5, 6), strict=True):
            onset = int(np.flatnonzero(pcm)[0])
            assert onset <= 0.03 * SAMPLE_RATE_HZ
            assert numbers_heard(pcm[onset : onset + FRAME_SAMPLES]) == [number]

    async def test_each_voice_has_its_own(self) -> None:
        engine, source = engine_of(self.script(4), said(5), give_silence=True)
        await chunks_of(engine, Segment(TEXT, "tara"))
        await chunks_of(engine, Segment(TEXT, "leo"))
        assert source.requests[1][1] == []

    async def test_when_nothing_follows_it_the_segment_begins_without(self) -> None:
        engine, source = engine_of(self.script(4), [END_OF_SPEECH_ID], said(5), give_silence=True)
        await chunks_of(engine, Segment(TEXT, "tara"))
        assert numbers_heard(pcm_of(await chunks_of(engine, Segment(TEXT, "tara")))) == [5]
        assert source.requests[2][1] == []

    async def test_is_off_unless_asked_for(self) -> None:
        engine, source = engine_of(self.script(4), said(5))
        for _ in range(2):
            await chunks_of(engine, Segment(TEXT, "tara"))
        assert source.requests[1][1] == []


class Reply:
    """Stands for one, as its segments do."""


class TestKeptProsody:
    async def prompts(self, *replies: Reply | None, **options: bool) -> list[tuple[int, ...]]:
        engine, source = engine_of(said(1, 2), said(3), said(4), **options)
        for reply in replies:
            await chunks_of(engine, Segment("Hi.", "tara", reply=reply))
        return [prompt.ids for prompt, _ in source.requests]

    async def test_what_the_reply_has_said_stands_before_what_it_says_next(self) -> None:
        reply = Reply()
        first, second, third = await self.prompts(reply, reply, reply, keep_prosody=True)
        end = (END_OF_SPEECH_ID, END_OF_AI_ID)
        assert second == (*first, *ids_of(1, 2), *end, *first)
        assert third == (*second, *ids_of(3), *end, *first)

    async def test_other_replies_know_nothing_of_it(self) -> None:
        first, *others = await self.prompts(Reply(), Reply(), None, keep_prosody=True)
        assert others == [first, first]

    async def test_is_off_unless_asked_for(self) -> None:
        reply = Reply()
        first, second = await self.prompts(reply, reply)
        assert first == second

    async def test_it_goes_with_the_reply(self) -> None:
        engine, _ = engine_of(said(1), keep_prosody=True)
        reply = Reply()
        await chunks_of(engine, Segment("Hi.", "tara", reply=reply))
        assert len(engine._replies._turns) == 1
        del reply
        gc.collect()
        assert len(engine._replies._turns) == 0

    async def test_a_segment_that_was_broken_off_is_not_part_of_it(self) -> None:
        engine, source = engine_of(said(*range(1, 30)), said(1), keep_prosody=True)
        reply = Reply()
        segment = Segment("Hi.", "tara", reply=reply)
        async with aclosing(engine.synthesize(segment)) as chunks:
            await anext(chunks)
        await chunks_of(engine, segment)
        assert source.requests[0][0] == source.requests[1][0]

    async def test_a_long_reply_keeps_its_end_only(self) -> None:
        long = said(*range(1, 150))
        engine, source = engine_of(long, long, said(1), keep_prosody=True)
        reply = Reply()
        for _ in range(3):
            await chunks_of(engine, Segment("word " * 60, "tara", reply=reply))
        first, second, third = (len(prompt.ids) for prompt, _ in source.requests)
        assert second == third > first
        assert third <= MAX_TURN_TOKENS + first
