"""Play-out of the tiny voice, reckoned in samples: no clock, and decoding takes no time."""

import pytest

from speech_server.audio.pcm import float_to_int16
from speech_server.tts.engine import Pcm16
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, SAMPLE_RATE_HZ, Frame
from speech_server.tts.snac_decoder import SnacDecoder, load_snac
from speech_server.tts.snac_stream import SnacStream
from speech_server.tts.speech_edges import SpeechEdges
from tests.tiny_voice import SNAC_FOLDER, sentences

PLAYER_STEP = SAMPLE_RATE_HZ // 100
"""A player asks for 10 ms at a time: less than that is no gap."""


@pytest.fixture(scope="module")
def snac() -> SnacDecoder:
    return load_snac(SNAC_FOLDER, "cpu")


class Player:
    """Starts with the first piece and has nothing in hand."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        """Samples that could have been played in each time that there was nothing to play."""
        self._ends_at: float | None = None

    def play(self, pcm: Pcm16, at: float) -> None:
        """Take a piece that comes `at` this time, samples."""
        if not len(pcm):
            return
        begins_at = at if self._ends_at is None else max(at, self._ends_at)
        if self._ends_at is not None and begins_at > self._ends_at:
            self.gaps.append(begins_at - self._ends_at)
        self._ends_at = begins_at + len(pcm)


def gaps(snac: SnacDecoder, frames: list[Frame], speed: float) -> list[float]:
    """Under-runs of a segment whose frames come at `speed` times real time, samples."""
    stream, edges, player = SnacStream(snac.decode), SpeechEdges(SAMPLE_RATE_HZ), Player()
    now = 0.0
    for count, frame in enumerate(frames, 1):
        now = count * FRAME_SAMPLES / speed
        for pcm in stream.push([frame]):
            player.play(edges.push(float_to_int16(pcm)), now)
    for pcm in stream.flush():
        player.play(edges.push(float_to_int16(pcm)), now)
    player.play(edges.finish(), now)
    return player.gaps


@pytest.mark.parametrize("text", sentences())
@pytest.mark.parametrize("speed", [1.5, 2.0, 4.0])
def test_a_player_never_starves(snac: SnacDecoder, text: str, speed: float) -> None:
    assert gaps(snac, sentences()[text], speed) == []


@pytest.mark.parametrize("text", sentences())
def test_nor_at_the_least_speed_reckoned_with(snac: SnacDecoder, text: str) -> None:
    assert max(gaps(snac, sentences()[text], 1.3), default=0.0) < PLAYER_STEP


def test_a_model_slower_than_speech_is_heard_to_be(snac: SnacDecoder) -> None:
    assert max(gaps(snac, max(sentences().values(), key=len), 0.8)) > PLAYER_STEP
