import numpy as np
import pytest

from speech_server.protocol.listen import Results, SpeechStarted, UtteranceEnd
from speech_server.stt.engine import SttEngineInfo, Transcript, Word
from speech_server.stt.listen_messages import ListenMessages
from speech_server.stt.listen_query import ListenQuery
from speech_server.stt.stream import StreamEvent, Transcribed
from speech_server.stt.utterance import Close, Revision, SilenceAfterSpeech, UtteranceAudio
from speech_server.stt.utterance import SpeechStarted as Started

AUDIO = UtteranceAudio(Revision(1, 30_000), np.ones(16_000, np.float32), 16_000, 32_000)
NOTHING = UtteranceAudio(Revision(2, 30_000), np.zeros(0, np.float32), 32_000, 32_000)
WORDS = Transcript(
    "Hello, you.",
    words=(Word("Hello,", 0.1, 0.4, 0.9), Word("you.", 0.5, 0.75)),
    confidence=0.75,
)


def messages(**asked: bool) -> ListenMessages:
    return ListenMessages(ListenQuery(**asked), "r1", SttEngineInfo("fake", "fake-1"))  # type: ignore[arg-type]


def results(message: object) -> Results:
    assert isinstance(message, Results)
    return message


@pytest.mark.parametrize(
    ("reason", "speech_final", "from_finalize"),
    [
        (Close.ENDPOINT, True, False),
        (Close.FINALIZE, False, True),
        (Close.LIMIT, False, False),
        (Close.END_OF_STREAM, False, False),
    ],
)
def test_a_final(reason: Close, speech_final: bool, from_finalize: bool) -> None:
    event = Transcribed("final", Transcript("Hi.", language="en"), AUDIO, reason)
    message = results(messages().message(event))
    assert (message.start, message.duration) == (1.0, 1.0)
    assert message.is_final
    assert message.speech_final is speech_final
    assert message.from_finalize is from_finalize
    assert message.channel.alternatives[0].transcript == "Hi."
    assert message.metadata.request_id == "r1"
    wire = message.model_dump(exclude_none=True)
    assert "preflight" not in wire
    # Stock LiveKit reads both without asking whether they are there.
    assert wire["channel"]["alternatives"][0]["confidence"] == 0.0
    assert wire["channel"]["alternatives"][0]["words"] == ()


def test_words_are_in_stream_time() -> None:
    speaker = messages()
    event = Transcribed("final", WORDS, AUDIO, Close.ENDPOINT)
    first, second = results(speaker.message(event)).channel.alternatives[0].words
    assert (first.word, first.punctuated_word, first.start, first.end) == (
        "hello",
        "Hello,",
        1.1,
        1.4,
    )
    assert first.confidence == 0.9
    assert second.confidence is None
    end = speaker.message(SilenceAfterSpeech(30_000))
    assert end == UtteranceEnd(last_word_end=1.75)


def test_without_word_times_the_last_word_end_is_unknown() -> None:
    assert messages().message(SilenceAfterSpeech(30_000)) == UtteranceEnd(last_word_end=-1)


@pytest.mark.parametrize(
    ("event", "flag"),
    [
        (Started(1600), "vad_events"),
        (Transcribed("interim", Transcript("Hi"), AUDIO), "interim_results"),
        (Transcribed("preflight", Transcript("Hi"), AUDIO), "preflight"),
    ],
)
def test_only_what_was_asked_for_is_sent(event: StreamEvent, flag: str) -> None:
    assert messages().message(event) is None
    assert messages(**{flag: True}).message(event) is not None


def test_a_preflight_is_marked_and_an_interim_to_others() -> None:
    event = Transcribed("preflight", Transcript("Hi"), AUDIO)
    assert results(messages(preflight=True).message(event)).preflight is True
    plain = results(messages(interim_results=True).message(event))
    assert plain.preflight is None
    assert not plain.is_final


def test_finalize_is_answered_even_when_nothing_was_said() -> None:
    event = Transcribed("final", Transcript(""), NOTHING, Close.FINALIZE)
    message = results(messages().message(event))
    assert message.from_finalize
    assert message.duration == 0


def test_the_end_of_a_silent_stream_has_no_result() -> None:
    event = Transcribed("final", Transcript(""), NOTHING, Close.END_OF_STREAM)
    assert messages().message(event) is None


def test_speech_started() -> None:
    assert messages(vad_events=True).message(Started(1600)) == SpeechStarted(timestamp=0.1)
