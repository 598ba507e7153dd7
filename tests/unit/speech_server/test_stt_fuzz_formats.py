"""Whatever a model writes, a reader of subtitles finds the same captions at the same times."""

import json
import re
from html import unescape

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speech_server.stt.engine import Transcript
from speech_server.stt.file_transcriber import FileSegment
from speech_server.stt.transcription_formats import full_text, subtitles, verbose
from speech_server.stt.utterance import Revision, UtteranceAudio

TEXT = st.text(max_size=30) | st.lists(
    st.sampled_from(
        ("-->", "--", ">", "\r", "\n", "\r\n", "\n\n", "<b>", "&amp;", "NOTE", "7", " ")
    ),
    max_size=6,
).map("".join)  # fmt: skip
SEGMENTS = st.lists(st.tuples(TEXT, st.integers(0, 10**9), st.integers(0, 10**7)), max_size=4)
LINE_END = re.compile(r"\r\n|\r|\n")
"""Source: W3C, WebVTT, section 4.1, "WebVTT line terminator"."""
TIMES = re.compile(
    r"(\d{2,}):([0-5]\d):([0-5]\d)[.,](\d{3}) --> (\d{2,}):([0-5]\d):([0-5]\d)[.,](\d{3})"
)


def segments(spoken: list[tuple[str, int, int]]) -> list[FileSegment]:
    return [
        FileSegment(
            Transcript(text),
            UtteranceAudio(
                Revision(1, begin + length), np.zeros(1, np.float32), begin, begin + length
            ),
        )
        for text, begin, length in spoken
    ]


def captions(text: str) -> list[tuple[str, list[str]]]:
    """The captions that a reader finds: a line of times and the lines up to an empty one."""
    lines = LINE_END.split(text)
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if "-->" in line:
            found.append((line, []))
        elif found and line:
            found[-1][1].append(line)
    return found


@settings(max_examples=300)
@example([("---->", 0, 1)], "srt")
@example([("One.\r\r2\r00:00:01,000 --> 00:00:02,000", 0, 1)], "srt")
@given(SEGMENTS, st.sampled_from(("srt", "vtt")))
def test_any_text_stays_within_its_caption(spoken: list[tuple[str, int, int]], kind: str) -> None:
    written = subtitles(segments(spoken), "srt" if kind == "srt" else "vtt")
    written.encode()
    told = [s for s in spoken if s[0]]
    found = captions(written)
    assert len(found) == len(told)
    for (times, lines), (text, begin, length) in zip(found, told, strict=True):
        match = TIMES.fullmatch(times)
        assert match
        numbers = [int(group) for group in match.groups()]
        # 16 samples a millisecond; half of one may be rounded either way
        assert _milliseconds(numbers[:4]) == pytest.approx(begin / 16, abs=0.51, rel=0)
        assert _milliseconds(numbers[4:]) == pytest.approx((begin + length) / 16, abs=0.51, rel=0)
        read = " ".join(lines[:1])
        one_line = re.sub("--+>", "->", " ".join(text.split()))
        if kind == "vtt":
            assert len(lines) <= 1
            assert "<" not in read
            assert unescape(read) == one_line
        elif one_line:
            assert read == one_line
            assert len(lines) <= 2  # the next caption's number


def _milliseconds(clock: list[int]) -> int:
    hours, minutes, seconds, milliseconds = clock
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds


@settings(max_examples=100)
@given(SEGMENTS)
def test_any_text_is_in_the_other_formats_as_it_is(spoken: list[tuple[str, int, int]]) -> None:
    heard = segments(spoken)
    body = verbose(heard, 1.0, frozenset({"segment"})).model_dump(exclude_none=True)
    told = [text for text, _, _ in spoken if text]
    assert [s["text"] for s in json.loads(json.dumps(body))["segments"]] == told
    assert body["text"] == full_text(heard)
