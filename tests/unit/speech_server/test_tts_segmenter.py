"""Where streamed text is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.segmenter import MAX_SEGMENT_CHARS, Segmenter


def segments_of(text: str) -> list[str]:
    segmenter = Segmenter()
    return segmenter.push(text) + segmenter.flush()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        (
            "Dr. Smith paid $3.50 at 5 p.m. Then he left.",
            ["Dr. Smith paid $3.50 at 5 p.m. ", "Then he left."],
        ),
        ("He paid at 5 p.m. and left.", ["He paid at 5 p.m. and left."]),
        ("It is 3:30. Come in.", ["It is 3:30. ", "Come in."]),
        (
            "See https://a.b/c.html?d=e.f, or www.x.com. OK?",
            ["See https://a.b/c.html?d=e.f, or www.x.com. ", "OK?"],
        ),
        ("Well... maybe not. Or...", ["Well... maybe not. ", "Or..."]),
        ("Well... I know.", ["Well... ", "I know."]),
        ("No. 5 is free. No. Go.", ["No. 5 is free. ", "No. ", "Go."]),
        ("On Jan. 3 we open. In Jan. We close.", ["On Jan. 3 we open. ", "In Jan. ", "We close."]),
        ("J. R. Smith of the U.S. Army.", ["J. R. Smith of the U.S. Army."]),
        ("Is it? Yes! It is.", ["Is it? ", "Yes! ", "It is."]),
        ('He said "Go." Then went.', ['He said "Go." ', "Then went."]),
        ("**Bold.** Then.", ["**Bold.** ", "Then."]),
        ("1. One thing\n2. Another\n", ["1. One thing\n", "2. Another\n"]),
        ("Version 2.0 is out. It costs 5. Buy it.", None),
        ("你好。再见。", ["你好。", "再见。"]),
        ("<|im. start|> Hi.", ["<|im. start|> Hi."]),
    ],
)
def test_sentences(text: str, expected: list[str] | None) -> None:
    if expected is None:
        expected = ["Version 2.0 is out. ", "It costs 5. ", "Buy it."]
    assert segments_of(text) == expected


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Of course, I can help you, Peter, with that.", "Of course, I can help you, "),
        ("Yes, of course, I can help.", "Yes, of course, "),
        ("There are three: one and two.", "There are three: "),
        ("I can do that — if you like.", "I can do that — "),
        ("It costs 1,000 dollars a year, all in.", "It costs 1,000 dollars a year, "),
        ("Sure! Let me see.", "Sure! "),
    ],
)
def test_first_clause_goes_early(text: str, first: str) -> None:
    assert segments_of(text)[0] == first


def test_only_the_first_segment_is_a_clause() -> None:
    text = "Yes, of course, sir. Then we go, you and I, to see it. Done."
    assert segments_of(text) == [
        "Yes, of course, ",
        "sir. ",
        "Then we go, you and I, to see it. ",
        "Done.",
    ]


def test_an_ordinary_sentence_is_cut_without_seeing_what_follows() -> None:
    assert Segmenter().push("Hello there. ") == ["Hello there. "]


def test_an_abbreviation_waits_for_the_next_word() -> None:
    segmenter = Segmenter()
    assert segmenter.push("It is at 5 p.m. ") == []
    assert segmenter.push("T") == ["It is at 5 p.m. "]
    assert segmenter.flush() == ["T"]


def test_long_text_is_cut_at_a_clause_then_a_blank_then_anywhere() -> None:
    clauses = segments_of("word " * 50 + "word, " + "word " * 60)
    assert clauses[0].endswith("word, ")
    assert all(part.endswith(" ") for part in segments_of("word " * 500))
    assert [len(part) for part in segments_of("x" * 700)] == [300, 300, 100]


def test_hurry_keeps_back_a_word_that_may_be_unfinished() -> None:
    segmenter = Segmenter()
    assert segmenter.push("I will check your appoint") == []
    assert segmenter.hurry(whole_words=True) == ["I will check your "]
    assert segmenter.hurry(whole_words=True) == []
    assert segmenter.push("ment") == []
    assert segmenter.hurry(whole_words=False) == ["appointment"]
    assert not segmenter.waiting


def test_hurry_keeps_a_control_token_together() -> None:
    segmenter = Segmenter()
    segmenter.push("Hello <|im_")
    assert segmenter.hurry(whole_words=False) == ["Hello "]
    segmenter.push("end|> there")
    assert segmenter.flush() == ["<|im_end|> there"]


_TEXTS = st.one_of(
    st.text(max_size=600),
    st.lists(
        st.sampled_from(
            ["Dr.", "p.m.", "word", "Word", "No.", "5", "3.50", "3:30", "...", "…", "Yes,", '"',
             "<|", "|>", "\n", " ", "  ", "a.b", "J.", "end.", "end!", "end?)", "。", "-", "—",
             "😀", "x" * 90]
        ),
        max_size=80,
    ).map(" ".join),
)  # fmt: skip


@given(_TEXTS)
def test_nothing_is_lost_doubled_or_moved(text: str) -> None:
    segments = segments_of(text)
    assert "".join(segments) == text
    assert all(segments)
    assert max(map(len, segments), default=0) <= MAX_SEGMENT_CHARS + 1


@given(_TEXTS, st.lists(st.integers(0, 600)))
def test_cuts_do_not_depend_on_how_the_text_arrives(text: str, splits: list[int]) -> None:
    places = sorted({min(split, len(text)) for split in splits} | {0, len(text)})
    segmenter = Segmenter()
    segments = [
        segment
        for start, end in itertools.pairwise(places)
        for segment in segmenter.push(text[start:end])
    ]
    assert segments + segmenter.flush() == segments_of(text)


@given(st.lists(st.text(max_size=30), max_size=30), st.data())
def test_hurrying_loses_nothing(deltas: list[str], data: st.DataObject) -> None:
    segmenter = Segmenter()
    segments = []
    for delta in deltas:
        segments += segmenter.push(delta)
        if data.draw(st.booleans()):
            segments += segmenter.hurry(whole_words=data.draw(st.booleans()))
    assert "".join(segments + segmenter.flush()) == "".join(deltas)


def test_a_hundred_thousand_characters() -> None:
    text = "This is a sentence of some words. " * 3_000
    segments = segments_of(text)
    assert "".join(segments) == text
    assert len(segments) == 3_000
