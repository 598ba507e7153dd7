import pytest

from bench.stt.callers import Conversation, converse
from bench.stt.lines import LineFactory, Listener, Refused
from bench.stt.recordings import Recording

FRAMES = tuple(bytes([number]) * 640 for number in range(1, 6))
HELLO = Recording("hello", "Hello.", FRAMES)


class EchoLine:
    """Answers at once with the number of frames of speech."""

    ready = True

    def __init__(self, listener: Listener, *, sends_pauses: bool = True) -> None:
        self.sends_pauses = sends_pauses
        self.listener = listener
        self.speech = 0
        self.sent: list[bytes] = []
        self.closed = False

    async def open(self) -> None:
        pass

    def encode(self, frame: bytes) -> bytes:
        return b"e" + frame

    def begin(self) -> None:
        self.speech = 0

    def send(self, encoded: bytes) -> None:
        self.sent.append(encoded)
        self.speech += encoded[1:] in FRAMES

    def finalize(self) -> None:
        self.listener.heard_interim(len(self.sent) * 0.02)
        self.listener.heard_final(f"{self.speech} frames")

    def close(self) -> None:
        self.closed = True


async def talk(new_line: LineFactory, streams: int = 1) -> Conversation:
    return await converse(new_line, [HELLO], streams=streams, join_s=0.02, talk_s=0.5)


async def test_every_caller_says_the_whole_recording_and_hears_its_final() -> None:
    lines: list[EchoLine] = []

    def new_line(listener: Listener) -> EchoLine:
        lines.append(EchoLine(listener))
        return lines[-1]

    conversation = await talk(new_line, streams=3)
    assert [turn.heard for turn in conversation.turns] == ["5 frames"] * 3
    assert all(turn.recording is HELLO for turn in conversation.turns)
    assert all(turn.heard_at is not None for turn in conversation.turns)
    assert len(conversation.interim_lags_s) == 3
    assert conversation.speech_s == pytest.approx(3 * HELLO.duration_s)
    assert not conversation.broken
    assert all(line.closed for line in lines)


async def test_the_end_of_speech_is_before_finalize_by_the_trailing_silence() -> None:
    (turn,) = (await talk(EchoLine)).turns
    assert turn.heard_at is not None
    assert turn.speech_ended_at < turn.finalized_at <= turn.heard_at
    assert turn.final_latency_s > turn.after_finalize_s >= 0


async def test_a_line_without_pauses_gets_no_audio_between_utterances() -> None:
    lines: list[EchoLine] = []

    def new_line(listener: Listener) -> EchoLine:
        lines.append(EchoLine(listener, sends_pauses=False))
        return lines[-1]

    await talk(new_line)
    assert len(lines[0].sent) == 10  # the speech and 0.1 s behind it


async def test_a_refused_caller_is_counted_and_the_others_talk() -> None:
    class Crowded(EchoLine):
        seats = 1

        async def open(self) -> None:
            Crowded.seats -= 1
            if Crowded.seats < 0:
                raise Refused("overloaded")

    conversation = await talk(Crowded, streams=2)
    assert conversation.refused == 1
    assert conversation.broken == ["refused: overloaded"]
    assert len(conversation.turns) == 1


async def test_a_connection_that_breaks_loses_its_final() -> None:
    class Breaking(EchoLine):
        def finalize(self) -> None:
            self.listener.lost("gone")

    conversation = await talk(Breaking)
    assert conversation.broken == ["gone"]
    (turn,) = conversation.turns
    assert turn.heard_at is None
    assert turn.final_latency_s == float("inf")


async def test_an_answer_that_nobody_asked_for_is_no_final() -> None:
    class Talkative(EchoLine):
        def begin(self) -> None:
            super().begin()
            self.listener.heard_final("too early")

    (turn,) = (await talk(Talkative)).turns
    assert turn.heard == "5 frames"
