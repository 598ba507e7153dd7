import numpy as np

from speech_server.stt.engine import Transcript, Word
from speech_server.stt.file_transcriber import FileSegment
from speech_server.stt.transcription_formats import full_text, subtitles, verbose
from speech_server.stt.utterance import Revision, UtteranceAudio


def segment(
    text: str, start_s: float, end_s: float, words: tuple[Word, ...] | None = None
) -> FileSegment:
    start, end = round(start_s * 16_000), round(end_s * 16_000)
    audio = UtteranceAudio(Revision(1, end), np.ones(end - start, np.float32), start, end)
    return FileSegment(Transcript(text, language="en", words=words), audio)


SEGMENTS = (segment("One.", 0.5, 1.25), segment("", 2, 3), segment("Two --> three.", 3661.5, 3662))


def test_text_leaves_empty_utterances_out() -> None:
    assert full_text(SEGMENTS) == "One. Two --> three."
    assert full_text(()) == ""


def test_srt() -> None:
    assert subtitles(SEGMENTS, "srt") == (
        "1\n00:00:00,500 --> 00:00:01,250\nOne.\n\n"
        "2\n01:01:01,500 --> 01:01:02,000\nTwo -> three.\n"
    )


def test_vtt() -> None:
    assert subtitles(SEGMENTS[:1], "vtt") == "WEBVTT\n\n00:00:00.500 --> 00:00:01.250\nOne.\n"
    assert subtitles((), "vtt") == "WEBVTT\n\n"


def test_verbose_has_segments_and_no_invented_fields() -> None:
    body = verbose(SEGMENTS, 3700.0, frozenset({"segment"})).model_dump(exclude_none=True)
    assert body["language"] == "en"
    assert body["duration"] == 3700.0
    assert body["segments"][0] == {"id": 0, "start": 0.5, "end": 1.25, "text": "One."}
    assert [s["id"] for s in body["segments"]] == [0, 1]
    assert "words" not in body


def test_verbose_words_are_in_file_time() -> None:
    spoken = segment("One.", 10.0, 11.0, (Word("One.", 0.25, 0.75),))
    body = verbose([spoken], 12.0, frozenset({"word"})).model_dump(exclude_none=True)
    assert body["words"] == ({"word": "One.", "start": 10.25, "end": 10.75},)
    assert "segments" not in body
