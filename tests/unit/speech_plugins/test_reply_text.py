import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_plugins.reply_text import MAX_CONTEXT_CHARS, Piece, ReplyText

TEXTS = st.text(alphabet="ab Z.!?\"')(3\n", max_size=60)


def drain(text: ReplyText) -> list[Piece]:
    pieces = []
    while piece := text.next_piece():
        pieces.append(piece)
    return pieces


def reply(*tokens: str) -> ReplyText:
    text = ReplyText()
    for token in tokens:
        text.add(token)
    text.end()
    return text


def sentences(text: str) -> list[str]:
    """What is sent up to each mark, for a whole text at once."""
    return [piece.text for piece in drain(reply(text))]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two.", ["One. ", "Two."]),
        ("Really? Yes! Good.", ["Really? ", "Yes! ", "Good."]),
        ('He said "no." Then he left.', ['He said "no." ', "Then he left."]),
        ("Well... (She smiled.) Fine.", ["Well... ", "(She smiled.) ", "Fine."]),
        ("Dr. Miller is in.", ["Dr. Miller is in."]),
        ("At 3 p.m. it opens.", ["At 3 p.m. it opens."]),
        ("It costs 3.50 today.", ["It costs 3.50 today."]),
        ("No. I cannot.", ["No. ", "I cannot."]),
        ("Room No. 5 is free.", ["Room No. 5 is free."]),
        ("Files etc. are here.", ["Files etc. are here."]),
        ("See example.com for more.", ["See example.com for more."]),
    ],
)
def test_a_sentence_ends_where_the_next_begins(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@given(st.lists(TEXTS, max_size=12))
def test_every_character_is_sent_once_in_order(tokens: list[str]) -> None:
    text = ReplyText()
    pieces = []
    for token in tokens:
        text.add(token)
        pieces += drain(text)
    text.end()
    pieces += drain(text)
    assert "".join(piece.text for piece in pieces) == "".join(tokens)
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]


@given(st.text(alphabet="ab Z.!?3\n", max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_the_same_sentences_however_it_is_cut(whole: str, cuts: list[int]) -> None:
    text = ReplyText()
    marks = []
    sent = 0
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(whole)], strict=True):
        text.add(whole[begin:end])
        for piece in drain(text):
            sent += len(piece.text)
            if piece.flush:
                marks.append(sent)
    together = [piece for piece in drain(reply(whole)) if piece.flush]
    expected = [sum(len(p.text) for p in together[: i + 1]) for i in range(len(together))]
    assert marks == expected


@given(st.text(alphabet="abc Z.", min_size=1, max_size=3 * MAX_CONTEXT_CHARS))
def test_no_context_is_too_long(whole: str) -> None:
    text = reply(whole)
    contexts = []
    while text.has_words_to_send:
        pieces = drain(text)
        contexts.append("".join(piece.text for piece in pieces))
        assert pieces[-1].last
        text.close_context()
    assert "".join(contexts).rstrip() == whole.rstrip()
    assert all(len(context) <= MAX_CONTEXT_CHARS for context in contexts)


def test_100_000_characters_without_a_gap() -> None:
    text = reply("x" * 100_000)
    sent = 0
    while text.has_words_to_send:
        sent += sum(len(piece.text) for piece in drain(text))
        text.close_context()
    assert sent == 100_000


def test_an_explicit_flush_marks_what_is_there() -> None:
    text = ReplyText()
    text.add("One moment")
    text.flush()
    assert drain(text) == [Piece("One moment", flush=True)]
    assert text.awaits_audio
    text.flush_answered()
    assert not text.awaits_audio


def test_resumed_at_the_start_while_nothing_was_heard() -> None:
    text = reply("One. Two.")
    drain(text)
    assert text.resume(words_are_timed=False) == 0
    assert drain(text) == [Piece("One. ", flush=True), Piece("Two.", last=True)]


def test_a_sentence_begun_is_given_up_and_counted() -> None:
    text = reply("One two. Three.")
    drain(text)
    text.audio_received(0.1)
    assert text.resume(words_are_timed=False) == len("One two. ")
    assert drain(text) == [Piece("Three.", last=True)]


def test_the_rest_of_a_sentence_still_being_written_is_given_up_as_it_comes() -> None:
    text = ReplyText()
    text.add("One two")
    drain(text)
    text.audio_received(0.1)
    text.resume(words_are_timed=False)
    text.add(" three.")
    assert drain(text) == []
    assert not text.has_words_to_send
    text.add(" Four")
    assert drain(text) == [Piece("Four")]


def test_nothing_left_when_the_last_sentence_was_begun() -> None:
    text = reply("One. Two.")
    drain(text)
    text.flush_answered()
    text.audio_received(0.1)
    text.resume(words_are_timed=False)
    assert not text.has_words_to_send


def test_resumed_at_the_first_word_not_heard_in_full() -> None:
    text = reply("One two three.")
    drain(text)
    assert text.word_timed("One", 0.2) == "One"
    assert text.word_timed("two", 0.4) == " two"
    text.audio_received(0.3)
    assert text.resume(words_are_timed=True) == 0
    assert drain(text) == [Piece(" two three.", last=True)]


def test_a_word_timed_after_its_audio_counts_too() -> None:
    text = reply("One two three.")
    drain(text)
    text.audio_received(0.3)
    text.word_timed("One", 0.2)
    text.resume(words_are_timed=True)
    assert drain(text)[0].text == " two three."


def test_resumed_at_the_first_word_where_none_was_heard_in_full() -> None:
    text = reply("Unbelievable news.")
    drain(text)
    text.audio_received(0.3)
    assert text.resume(words_are_timed=True) == 0
    assert drain(text)[0].text == "Unbelievable news."


def test_words_keep_the_spelling_of_the_text() -> None:
    text = reply('"Hi," it is 3:30 -- now. ')
    drain(text)
    spelled = [text.word_timed(w, 1.0) for w in ("hi", "IT", "is", "three", "thirty", "now.")]
    assert spelled == ['"Hi,"', " it", " is", "", "", " 3:30 -- now."]
    assert text.close_context() == " "


@pytest.mark.parametrize("word", ["", "...", "(", "[a-z]*", "\\"])
def test_a_word_that_is_no_word_is_not_found(word: str) -> None:
    text = reply("One two.")
    drain(text)
    assert text.word_timed(word, 1.0) == ""


def test_a_word_far_ahead_is_not_taken_for_this_one() -> None:
    text = reply("one " * 40 + "two.")
    drain(text)
    assert text.word_timed("two", 1.0) == ""


@given(st.integers(0, 30), st.booleans())
def test_what_was_spoken_is_never_sent_again(words_heard: int, times_known: bool) -> None:
    whole = "".join(f"W{i} x{i}. " for i in range(16))
    words = whole.split()
    text = reply(whole)
    drain(text)
    for index, word in enumerate(words[:words_heard]):
        if times_known:
            text.word_timed(word, 0.1 * (index + 1))
        text.audio_received(0.1)
        if index % 2:
            text.flush_answered()
    text.resume(words_are_timed=times_known)
    rest = "".join(piece.text for piece in drain(text)).split()
    assert rest == words[len(words) - len(rest) :]
    assert not set(rest) & set(words[:words_heard])
    lost = len(words) - words_heard - len(rest)
    assert lost <= (0 if times_known else 1)
