import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from livekit import rtc
from livekit.agents.voice.io import PlaybackFinishedEvent

from tests.unit.voice_agent.stub_call import StubRoom
from voice_agent.audio_output import RoomAudioOutput

RATE_HZ = 24_000
QUEUE = RATE_HZ // 5
FADE = RATE_HZ // 200


class ScriptedSource:
    """WebRTC's queue, played as far as the test says."""

    def __init__(self, rate_hz: int, channels: int, *, queue_size_ms: int) -> None:
        assert (rate_hz, channels) == (RATE_HZ, 1)
        self._limit = queue_size_ms * rate_hz // 1000
        self._queue = np.zeros(0, np.int16)
        self._changed = asyncio.Condition()
        self._waits = asyncio.Event()
        self.heard = np.zeros(0, np.int16)
        self.closed = False

    @property
    def queued_duration(self) -> float:
        return len(self._queue) / RATE_HZ

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        async with self._changed:
            self._queue = np.append(self._queue, np.frombuffer(frame.data, np.int16))
            self._changed.notify_all()
            while len(self._queue) > self._limit:
                await self._wait()

    async def wait_for_playout(self) -> None:
        async with self._changed:
            while len(self._queue):
                await self._wait()

    async def _wait(self) -> None:
        self._waits.set()
        await self._changed.wait()

    def clear_queue(self) -> None:
        self._queue = np.zeros(0, np.int16)
        self._tell()

    async def play(self, count: int) -> None:
        """Let so many samples be heard, which must be there sooner or later."""
        while count:
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._queue))
            now = min(count, len(self._queue))
            self.heard = np.append(self.heard, self._queue[:now])
            self._queue = self._queue[now:]
            count -= now
            self._tell()
            await self.busy()

    async def busy(self) -> None:
        """Let the player go on until it waits for this queue, or has nothing for it."""
        self._waits.clear()
        for _ in range(20):
            if self._waits.is_set():
                return
            await asyncio.sleep(0)

    def _tell(self) -> None:
        async def tell() -> None:
            async with self._changed:
                self._changed.notify_all()

        self._telling = asyncio.ensure_future(tell())

    async def aclose(self) -> None:
        self.closed = True


class Scene:
    """An output on a track that is heard, and what it told."""

    def __init__(self, output: RoomAudioOutput, source: ScriptedSource, room: StubRoom) -> None:
        self.output, self.source, self.room = output, source, room
        self.started = 0
        self.finished: asyncio.Queue[PlaybackFinishedEvent] = asyncio.Queue()
        output.on("playback_started", self._on_started)
        output.on("playback_finished", self.finished.put_nowait)

    def _on_started(self, _: Any) -> None:
        self.started += 1

    async def speak(self, pcm: np.ndarray, *, frame: int = 480) -> None:
        for at in range(0, len(pcm), frame):
            piece = pcm[at : at + frame]
            await self.output.capture_frame(rtc.AudioFrame(piece.tobytes(), RATE_HZ, 1, len(piece)))
        await self.source.busy()


def tone(duration_s: float) -> np.ndarray:
    """Samples that are all different from their neighbours, and never silent."""
    count = round(duration_s * RATE_HZ)
    return (1_000 + np.arange(count) % 20_000).astype(np.int16)


@pytest.fixture
async def make(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[], Scene]]:
    sources: list[ScriptedSource] = []
    scenes: list[Scene] = []

    def make_source(*args: int, **options: int) -> ScriptedSource:
        sources.append(ScriptedSource(*args, **options))
        return sources[-1]

    class Track:
        name = "agent"

    monkeypatch.setattr(rtc, "AudioSource", make_source)
    monkeypatch.setattr(rtc.LocalAudioTrack, "create_audio_track", lambda *_: Track())

    def make() -> Scene:
        room = StubRoom()
        output = RoomAudioOutput(room, RATE_HZ)  # type: ignore[arg-type]
        scenes.append(Scene(output, sources[-1], room))
        return scenes[-1]

    yield make
    for scene in scenes:
        await scene.output.aclose()
        assert scene.source.closed


@pytest.fixture
async def scene(make: Callable[[], Scene]) -> Scene:
    scene = make()
    await scene.output.open()
    return scene


@pytest.mark.parametrize("frame", [100, 480, 4_800, 30_000])
async def test_every_sample_is_heard_once_and_in_order(scene: Scene, frame: int) -> None:
    said = tone(1.0)[:-7]
    await scene.speak(said, frame=frame)
    scene.output.flush()
    await scene.source.play(len(said))
    finished = await scene.finished.get()
    assert (scene.source.heard == said).all()
    assert finished.playback_position == pytest.approx(len(said) / RATE_HZ)
    assert not finished.interrupted
    assert scene.started == 1


async def test_the_beginning_does_not_wait_for_more(scene: Scene) -> None:
    await scene.speak(tone(0.01))
    await scene.source.play(RATE_HZ // 100)
    assert scene.started == 1


async def test_a_pause_is_silent_at_once_and_loses_nothing(scene: Scene) -> None:
    said = tone(2.0)
    await scene.speak(said)
    await scene.source.play(RATE_HZ // 2)
    scene.output.pause()
    assert scene.source.queued_duration == 0
    await scene.source.busy()
    assert scene.source.queued_duration == 0
    scene.output.resume()
    scene.output.flush()
    await scene.source.play(len(said) - RATE_HZ // 2)
    heard = scene.source.heard
    assert len(heard) == len(said)
    faded = slice(RATE_HZ // 2, RATE_HZ // 2 + FADE)
    assert (np.abs(heard[faded]) <= said[faded]).all()
    assert heard[faded][0] == 0
    heard[faded] = said[faded]
    assert (heard == said).all()
    finished = await scene.finished.get()
    assert finished.playback_position == pytest.approx(2.0)
    assert scene.started == 1


async def test_a_pause_while_the_end_is_played(scene: Scene) -> None:
    said = tone(0.3)
    await scene.speak(said)
    scene.output.flush()
    await scene.source.play(RATE_HZ // 4)
    scene.output.pause()
    await scene.source.busy()
    assert scene.finished.empty()
    scene.output.resume()
    await scene.source.play(RATE_HZ // 20)
    finished = await scene.finished.get()
    assert not finished.interrupted
    assert len(scene.source.heard) == len(said)


async def test_what_is_said_while_paused_comes_afterwards(scene: Scene) -> None:
    scene.output.pause()
    await scene.speak(tone(0.2))
    assert scene.started == 0
    scene.output.resume()
    await scene.source.play(RATE_HZ // 5)
    assert scene.started == 1


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("flushed_first", [False, True])
async def test_an_interruption_ends_where_the_caller_stopped_hearing(
    scene: Scene, paused: bool, flushed_first: bool
) -> None:
    await scene.speak(tone(2.0))
    await scene.source.play(RATE_HZ // 2)
    if paused:
        scene.output.pause()
    if flushed_first:
        scene.output.flush()
    scene.output.clear_buffer()
    assert scene.source.queued_duration == 0
    await scene.speak(tone(0.1)) if not flushed_first else None
    scene.output.flush()
    finished = await scene.finished.get()
    assert finished.interrupted
    assert finished.playback_position == pytest.approx(0.5)
    assert len(scene.source.heard) == RATE_HZ // 2


async def test_the_next_segment_waits_for_the_end_of_the_first(scene: Scene) -> None:
    first, second = tone(0.2), -tone(0.2)
    await scene.speak(first)
    scene.output.flush()
    speaking = asyncio.create_task(scene.speak(second))
    await scene.source.play(len(first))
    assert (await scene.finished.get()).playback_position == pytest.approx(0.2)
    await speaking
    scene.output.flush()
    await scene.source.play(len(second))
    assert (await scene.finished.get()).playback_position == pytest.approx(0.2)
    assert (scene.source.heard == np.append(first, second)).all()


async def test_an_interrupted_segment_is_followed_by_a_whole_one(scene: Scene) -> None:
    await scene.speak(tone(2.0))
    scene.output.pause()
    scene.output.flush()
    scene.output.clear_buffer()
    assert (await scene.finished.get()).interrupted
    scene.output.resume()
    answer = -tone(0.2)
    await scene.speak(answer)
    scene.output.flush()
    await scene.source.play(len(answer))
    assert not (await scene.finished.get()).interrupted
    assert (scene.source.heard == answer).all()


async def test_nothing_said_ends_nothing(scene: Scene) -> None:
    scene.output.flush()
    scene.output.clear_buffer()
    await scene.source.busy()
    assert scene.finished.empty()


async def test_who_is_not_heard_yet_can_be_interrupted(make: Callable[[], Scene]) -> None:
    scene = make()
    await scene.speak(tone(0.5))
    scene.output.flush()
    scene.output.clear_buffer()
    await scene.output.open()
    finished = await scene.finished.get()
    assert (finished.interrupted, finished.playback_position) == (True, 0.0)
    assert scene.started == 0


async def test_what_was_said_before_the_caller_listens_is_heard(
    make: Callable[[], Scene],
) -> None:
    scene = make()
    await scene.speak(tone(0.2))
    await scene.output.open()
    await scene.source.play(RATE_HZ // 5)
    assert scene.started == 1


async def test_nobody_waits_for_a_voice_that_is_closed(make: Callable[[], Scene]) -> None:
    scene = make()
    await scene.output.open()
    await scene.speak(tone(1.0))
    await scene.source.play(RATE_HZ // 2)
    waiting = asyncio.create_task(scene.output.wait_for_playout())
    await scene.output.aclose()
    assert (await waiting).interrupted
    await scene.speak(tone(0.1))
    scene.output.flush()
