import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.stt.loops import without_loops
from speech_server.stt.whisper_guards import (
    compression_ratio,
    doubt,
    is_silence,
    is_too_long,
    settle,
)

SENTENCE = "Please increase that limit five times."
AGAIN = "Good morning, this is Peter Miller speaking. " + " ".join([SENTENCE] * 3)


@pytest.mark.parametrize(
    ("no_speech", "log_probability", "silent"),
    [
        (0.9, -1.5, True),
        (0.9, -0.2, False),  # sure of its words: published models cry "no speech" too often
        (0.1, -1.5, False),
        (0.6, -1.5, False),
    ],
)
def test_silence_needs_both_signs(no_speech: float, log_probability: float, silent: bool) -> None:
    assert is_silence(no_speech, log_probability) is silent


def test_a_plain_sentence_is_not_doubted() -> None:
    assert doubt(SENTENCE, 0.9, -0.2, duration_s=2.5) is None


@pytest.mark.parametrize(
    ("text", "log_probability", "duration_s", "why"),
    [
        (SENTENCE, -1.2, 2.5, "log_probability"),
        (AGAIN, -0.1, 12.0, "repetition"),
        (" ".join([SENTENCE] * 9), -0.1, 28.0, "compression_ratio"),
        (SENTENCE, -0.1, 0.4, "length"),
    ],
)
def test_each_guard_gives_its_reason(
    text: str, log_probability: float, duration_s: float, why: str
) -> None:
    assert doubt(text, 0.1, log_probability, duration_s) == why


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No, no, no, that is wrong.",
        "My number is five five five five five one two.",
        "bye bye bye bye",
        "I said yes. I said yes.",
    ],
)
def test_what_people_do_repeat_is_no_loop(text: str) -> None:
    assert without_loops(text) == text
    assert settle(text, 0.0, -0.1, duration_s=5.0) == text


@pytest.mark.parametrize(
    ("text", "once"),
    [
        (" ".join(["Thank you, Mr. President,"] * 6), "Thank you, Mr. President,"),
        ("Well, " + "you " * 12 + "know", "Well, you know"),
        ("Thank you. " * 5 + "Goodbye.", "Thank you. Goodbye."),
        (f"Hello. {SENTENCE} {SENTENCE.lower()} {SENTENCE}", f"Hello. {SENTENCE}"),
    ],
)
def test_a_loop_is_cut_to_one_round(text: str, once: str) -> None:
    assert without_loops(text) == once


def test_a_repetition_that_fits_its_time_is_kept() -> None:
    assert settle(AGAIN, 0.0, -0.1, duration_s=12.0) == AGAIN


def test_a_repetition_that_nobody_could_say_is_cut() -> None:
    once = AGAIN.removesuffix(f" {SENTENCE} {SENTENCE}")
    assert settle(AGAIN, 0.0, -0.1, duration_s=4.0) == once


def test_a_loop_without_spaces_is_cut() -> None:
    assert settle("谢谢你" * 40, 0.0, -0.1, duration_s=10.0) == "谢谢你"


def test_text_that_nobody_could_say_is_no_transcript() -> None:
    assert settle("Thank you so much for watching this video.", 0.0, -0.1, duration_s=0.3) == ""


def test_short_words_may_be_said_in_no_time() -> None:
    assert not is_too_long("Yes.", duration_s=0.05)
    assert is_too_long("Thanks for watching!", duration_s=0.3)


def test_what_the_model_takes_for_silence_is_no_transcript() -> None:
    assert doubt("Thank you.", 0.9, -1.5, duration_s=3.0) == "no_speech"
    assert settle("Thank you.", 0.9, -1.5, duration_s=3.0) == ""


def test_what_the_model_is_unsure_of_is_kept() -> None:
    assert settle("Thank you.", 0.1, -1.5, duration_s=3.0) == "Thank you."


def test_no_text_is_beyond_doubt() -> None:
    assert doubt("", 0.9, -5.0, duration_s=0.0) is None


def test_compression_ratio_of_nothing_is_zero() -> None:
    assert compression_ratio("") == 0.0
    assert compression_ratio("ha" * 100) > 2.4


@given(st.lists(st.sampled_from(["yes", "no", "No,", "so", "."]), max_size=80))
def test_cutting_loops_only_ever_leaves_words_out(words: list[str]) -> None:
    left = iter(words)
    kept = without_loops(" ".join(words)).split()
    assert all(word in left for word in kept)
    assert bool(kept) == bool(words)


@given(st.text(max_size=400), st.floats(0, 30))
def test_what_is_settled_can_have_been_said(text: str, duration_s: float) -> None:
    assert not is_too_long(settle(text, 0.0, -0.1, duration_s), duration_s)
