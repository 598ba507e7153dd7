"""Any order of what may happen to a stream: every spoken sample is in one final, in order."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from speech_server.errors import EngineFailed
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.stream import StreamEvent, Transcribed, TranscriptStream
from speech_server.stt.utterance import Close, SpeechStarted, UtteranceAudio
from tests.unit.speech_server.numbered_audio import (
    LOUD,
    QUIET,
    SOFT,
    CountingEngine,
    LevelIsSpeech,
    numbered,
    numbers,
    runs,
    spoken,
)
from tests.unit.speech_server.stepped_loop import SteppedLoop, stepped_batcher

QUICK = settings(
    deadline=None, report_multiple_bugs=False, phases=tuple(set(Phase) - {Phase.explain})
)
SETTINGS = st.builds(
    SegmenterSettings,
    preflight_silence_s=st.sampled_from((None, 0.06, 0.2)),
    interim_interval_s=st.sampled_from((None, 0.1, 0.5)),
    endpointing_s=st.sampled_from((None, 0.2, 0.5)),
    utterance_end_s=st.sampled_from((None, 0.4)),
    max_utterance_s=st.sampled_from((0.3, 1.0, 30.0)),
)
LEAST_SPEECH = 3 * 512
"""Shorter speech may be a click."""
STRETCH = st.tuples(
    st.integers(LEAST_SPEECH, 7_000),
    st.integers(0, 3_000),
    st.sampled_from((0, 500, 2_000)) | st.integers(0, 9_000),
)
"""Samples of loud speech, of soft speech, and of the pause behind them."""
CHUNKS = st.lists(st.integers(1, 6_000), max_size=3).map(lambda sizes: [*sizes, 3_000])
"""Samples of the messages, in turn."""


class Session:
    """One stream with its sender, its reader and its engine, which a test moves step by step."""

    def __init__(self, asked: SegmenterSettings) -> None:
        self.loop = SteppedLoop()
        self.engine = CountingEngine()
        self.batcher, self.worker = stepped_batcher(self.loop, self.engine, max_waiting=10_000)
        self.stream = TranscriptStream(self.batcher, Segmenter(LevelIsSpeech(), asked))
        self.read: list[StreamEvent] = []
        self.failed = False
        self.position = 0
        self.said: list[int] = []
        self._may_read = asyncio.Semaphore(0)
        self._orders: asyncio.Queue[Callable[[], Coroutine[Any, Any, None]]] = asyncio.Queue()
        self._reader = self.loop.create_task(self._read())
        self._sender = self.loop.create_task(self._send())
        self.loop.settle()

    @property
    def finals(self) -> list[Transcribed]:
        return [e for e in self.read if isinstance(e, Transcribed) and e.kind == "final"]

    @property
    def speaks_on(self) -> bool:
        """Whether the caller was still speaking at the last sample."""
        return bool(self.said) and self.said[-1] == self.position - 1

    def say(self, loud: int, soft: int, pause: int, chunks: list[int]) -> None:
        begin = self.position
        levels = ((LOUD, loud), (SOFT, soft), (QUIET, pause))
        parts = []
        for level, count in levels:
            parts.append(numbered(level, self.position, count))
            self.position += count
        self.said += range(begin, begin + loud + soft)
        audio = np.concatenate(parts)
        sizes = cycle(chunks)
        while len(audio):
            size = next(sizes)
            self._order(partial(self.stream.push, audio[:size]))
            audio = audio[size:]
        self.loop.settle()

    def finalize(self) -> None:
        self._order(self.stream.finalize)
        self.loop.settle()

    def let_read(self, events: int) -> None:
        for _ in range(events):
            self._may_read.release()
        self.loop.settle()

    def end_call(self, fails: bool = False, took_s: float = 0.0) -> None:
        self.engine.fails = fails
        self.loop.pass_time(took_s)
        self.worker.end_call()
        self.loop.settle()

    def end(self) -> None:
        """No more audio: let everything come to its end, and leave nothing behind."""
        try:
            self._order(self.stream.end)
            self.let_read(1_000_000)
            while self.worker.busy:
                self.end_call()
            assert self._reader.done()
            self._reader.result()
            if not self.failed:
                assert self._orders.empty(), "the sender is stuck"
            self.stream.cancel()
            self._sender.cancel()
            stopping = self.loop.create_task(self.batcher.stop())
            self.loop.settle()
            while self.worker.busy:
                self.end_call()
            stopping.result()
            assert self.batcher.waiting == 0
            assert not asyncio.all_tasks(self.loop)
            assert self.loop.unhandled == []
        finally:
            self.loop.close()

    def _order(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._orders.put_nowait(what)

    async def _send(self) -> None:
        while True:
            order = await self._orders.get()
            await order()

    async def _read(self) -> None:
        try:
            async for event in self.stream.events():
                self.read.append(event)
                await self._may_read.acquire()
        except EngineFailed:
            self.failed = True
            self.stream.cancel()


class StreamMachine(RuleBasedStateMachine):
    @initialize(asked=SETTINGS)
    def begin(self, asked: SegmenterSettings) -> None:
        self.asked = asked
        self.session = Session(asked)
        self.finalizes = 0

    @rule(stretch=STRETCH, chunks=CHUNKS)
    def speak(self, stretch: tuple[int, int, int], chunks: list[int]) -> None:
        self.session.say(*stretch, chunks)

    @rule()
    def finalize(self) -> None:
        self.finalizes += 1
        self.session.finalize()

    @precondition(lambda self: self.session.worker.busy)
    @rule(fails=st.sampled_from([False] * 9 + [True]), took_s=st.sampled_from((0.0, 0.02, 0.5)))
    def end_call(self, fails: bool, took_s: float) -> None:
        self.session.end_call(fails, took_s)

    @rule(events=st.sampled_from((1, 3, 1_000)))
    def let_read(self, events: int) -> None:
        self.session.let_read(events)

    @rule(by_s=st.sampled_from((0.1, 1.0)))
    def wait(self, by_s: float) -> None:
        self.session.loop.pass_time(by_s)

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        self.session.end()
        check_order(self.session.read)
        check_finals(self.session.finals)
        if self.session.failed:
            return
        check_nothing_is_lost(self.session.finals, self.session.said)
        reasons = Counter(final.reason for final in self.session.finals)
        assert reasons[Close.FINALIZE] == self.finalizes
        assert reasons[Close.END_OF_STREAM] == 1
        if not self.session.engine.failures:
            self._check_nothing_was_read_twice()

    def _check_nothing_was_read_twice(self) -> None:
        """What was read ahead is not read again, but where the utterance was cut by force."""
        readings = Counter(self.session.engine.heard)
        interims = self.asked.interim_interval_s is not None  # may hold the same speech
        for final in self.session.finals:
            if final.reason is not Close.LIMIT:
                assert readings[final.transcript.text] <= 1 + interims


def check_order(events: list[StreamEvent]) -> None:
    closed = 0
    for event in events:
        if isinstance(event, Transcribed):
            assert event.audio.revision.utterance > closed, "after its final"
            if event.kind == "final":
                closed = event.audio.revision.utterance
            elif event.kind == "preflight":
                assert event.transcript.text == runs(spoken(event.audio.pcm))
    starts = [event.at for event in events if isinstance(event, SpeechStarted)]
    assert all(0 <= earlier < later for earlier, later in pairwise([*starts, 1 << 62]))


def check_finals(finals: list[Transcribed]) -> None:
    heard = [numbers(final.audio.pcm) for final in finals]
    assert np.all(np.diff(np.concatenate([[-1], *heard])) > 0), "doubled, or out of order"
    for final in finals:
        assert final.transcript.text == runs(spoken(final.audio.pcm))
        check_times(final.audio)


def check_times(audio: UtteranceAudio) -> None:
    """Every sample is where its utterance says that it was in the stream."""
    there = numbers(audio.pcm)
    assert all(audio.start <= number < audio.end for number in there)
    for at in {0, len(there) // 2, len(there) - 1} if there.size else ():
        assert round(audio.stream_s(at / 16_000) * 16_000) == there[at]


def check_nothing_is_lost(finals: list[Transcribed], said: list[int]) -> None:
    heard = [number for final in finals for number in spoken(final.audio.pcm).tolist()]
    assert heard == said


TestStreamMachine = StreamMachine.TestCase
TestStreamMachine.settings = settings(QUICK, max_examples=25, stateful_step_count=20)


@settings(QUICK, max_examples=10)
@given(
    asked=SETTINGS,
    stretches=st.lists(STRETCH, min_size=1, max_size=4),
    finalized=st.sets(st.integers(0, 3)),
    chunkings=st.tuples(CHUNKS, CHUNKS),
)
def test_the_same_audio_in_other_messages_gives_the_same_finals(
    asked: SegmenterSettings,
    stretches: list[tuple[int, int, int]],
    finalized: set[int],
    chunkings: tuple[list[int], list[int]],
) -> None:
    def finals(chunks: list[int]) -> list[tuple[str, Close | None, int, int]]:
        session = Session(asked)
        for index, stretch in enumerate(stretches):
            session.say(*stretch, chunks)
            if index in finalized:
                session.finalize()
        session.end()
        return [(f.transcript.text, f.reason, f.audio.start, f.audio.end) for f in session.finals]

    one, other = map(finals, chunkings)
    assert one == other
