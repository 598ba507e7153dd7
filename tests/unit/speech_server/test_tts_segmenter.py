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
            "https://a.b/c.html?d=e.f, or www.x.com. OK?",
            ["https://a.b/c.html?d=e.f, or www.x.com. ", "OK?"],
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
    "sentences",
    [
        "Dr. Smith paid $3.50 at 5 p.m. on Monday.|Dr. Jones did not.",
        "Mr. and Mrs. Brown are here.|So is Prof. Lee.",
        "It opens at 9 a.m. and closes at 5 p.m. every day.|Come in.",
        "It opens at 9 A.M.|Come in.",
        "Mail a.b@c.org.|Thanks.",
        "Use e.g. a pen.|Or i.e. ink.",
        "Cats, etc. are pets.|They eat, sleep, etc.|Then they play.",
        "Acme Inc. was sold.|It was Acme Inc.|Then it moved.",
        "Section 3.2 is long.|So is 4.1.|Read it.",
        "He said no. 5 people left.",
        "He said no.|Five people left.",
        "Is that so?!|Yes.",
        "What!!!|Stop it.",
        "Wait... what?|Oh.",
        "The end…|Or not.",
        'She asked "Why?"|Then left.',
        "(He left.)|She stayed.",
        "“Go.”|Then he went.",
        "J. K. Rowling wrote it.|George R. R. Martin did not.",
        "It was I.|She knew.",
        "Ph.D. students wait.|Jane Doe, Ph.D.|She waits.",
        "Jan. 3 is fine.|So is Feb. 10.",
        "St. Paul is near Mt. Hood.|Go there.",
        "Read vol. 2 and ch. 4 now.|Then rest.",
        "He weighs 70 kg.|They run.",
        "Call 555.1234.|Now.",
        "Update to v2.1.|It is out.",
        "Node.js is fine.|So is Yahoo!|Try it.",
        "Come in.|iPhone sales rose.",
        "Hi 😀.|Then 🎉!|Go.",
        "Now we close at 5 p.m.|<sigh> Then we go.",
        "Now we close at 5 p.m. <sigh> and go.",
        "I know <laugh>.|Then go.",
        "I know.|<laugh> Then go.",
        "مرحبا.|كيف حالك؟|جيد.",
        "שלום.|מה שלומך?|טוב.",
        "हाँ।|ठीक है।",
    ],
)
def test_hard_sentences(sentences: str) -> None:
    parts = sentences.split("|")
    assert [segment.rstrip() for segment in segments_of(" ".join(parts))] == parts


REPLY = (
    "Of course, I can help you with that, and I have looked at the calendar for next week. "
    "There is an opening on Tuesday at 3:30 p.m. with Dr. Smith, or on Thursday morning. "
    "Which of the two would you like, or shall I look for another day? "
)


def test_the_first_clause_is_on_its_way_before_the_first_sentence_ends() -> None:
    segmenter = Segmenter()
    handed_out: list[tuple[int, str]] = []
    for index, char in enumerate(REPLY):
        handed_out += [(index, segment) for segment in segmenter.push(char)]
    (first_at, first), (second_at, second), *later = handed_out
    assert (first, second) == ("Of course, ", "I can help you with that, ")
    assert first_at == len(first) - 1
    assert second_at == len(first + second) - 1 < REPLY.index(".")
    assert later == [(REPLY.index(segment) + len(segment) - 1, segment) for _, segment in later], (
        "a sentence is handed out with its last character"
    )
    assert min(len(segment) for _, segment in later) > len(first)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Of course, I can help you, Peter, with that.", "Of course, "),
        ("Sure, I can help you, Peter, with that.", "Sure, "),
        ("<laugh> Yes, I can help.", "<laugh> Yes, "),
        ("Well, I can help you, Peter, with that.", "Well, I can help you, "),
        ("Peter, I can help.", "Peter, I can help."),
        ("There are three: one and two.", "There are three: "),
        ("I can do that — if you like.", "I can do that — "),
        ("It costs 1,000 dollars a year, all in.", "It costs 1,000 dollars a year, "),
        ("Sure! Let me see.", "Sure! "),
        ("It is on November 24, 2026, at noon, I think.", "It is on November 24, 2026, "),
        ("Take bus number 24, please, at noon.", "Take bus number 24, "),
    ],
)
def test_first_clause_goes_early(text: str, first: str) -> None:
    assert segments_of(text)[0] == first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Of course, I can, if you like, do that.",
            ["Of course, ", "I can, if you like, ", "do that."],
        ),
        ("Yes, of course, I can help.", ["Yes, ", "of course, I can help."]),
        (
            "Yes, I can help you, Peter, with that.",
            ["Yes, ", "I can help you, ", "Peter, with that."],
        ),
        ("Of course, sir, I can do that.", ["Of course, ", "sir, I can do that."]),
        (
            "Sure! Let me see, one moment, please.",
            ["Sure! ", "Let me see, ", "one moment, please."],
        ),
        ("Of course I can, if you like.", ["Of course I can, ", "if you like."]),
    ],
)
def test_a_very_short_beginning_is_followed_by_a_clause(text: str, expected: list[str]) -> None:
    assert segments_of(text) == expected


def test_only_the_beginning_is_cut_at_clauses() -> None:
    text = "Yes, of course, sir. Then we go, you and I, to see it. Done."
    assert segments_of(text) == [
        "Yes, ",
        "of course, sir. ",
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


def test_digits_count_for_the_words_that_they_are() -> None:
    assert [len(part) for part in segments_of("7" * 100)] == [60, 40]
    assert all(part.endswith(" ") for part in segments_of("555 " * 100))


@pytest.mark.parametrize("before", range(280, 302))
def test_no_cut_falls_into_a_tag(before: int) -> None:
    for tag in ("<laugh>", "<|im_end|>", '<break time="1s" />'):
        text = "x" * before + tag + "y" * 300
        assert sum(tag in segment for segment in segments_of(text)) == 1


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
             "😀", "x" * 90, "<laugh>", "<sigh>.", "<", "<la", "9" * 70]
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
