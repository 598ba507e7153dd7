"""What is left of written text when it is spoken."""

# ruff: noqa: RUF001  (typographic signs are what is tested)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.normalise import normalise
from speech_server.tts.orpheus_prompt import TAGS

SOUNDS = frozenset(TAGS)


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("", ""),
        ("It is at 3:30.", "It is at three thirty."),
        ("It is at 15:30", "It is at fifteen thirty"),
        ("at 15:00, 3:00 or 0:05", "at fifteen hundred, three o'clock or zero oh five"),
        ("3:00 p.m.", "3 p.m."),
        ("3:05pm or 8am.", "three oh five p.m. or 8 a.m."),
        ("08:00–18:00", "eight o'clock to eighteen hundred"),
        ("08:00 - 18:00", "eight o'clock to eighteen hundred"),
        ("3:30:10 and 25:00", "3:30:10 and 25:00"),
        ("on 2026-11-21.", "on November 21st 2026."),
        ("on 2026-13-41", "on 2026-13-41"),
        ("$3.50, 1,250 and 50%", "$3.50, 1,250 and 50%"),
        ("€5 and £3.20", "5 euros and 3.20 pounds"),
        ("You & me, R&D", "You and me, R and D"),
        ("21 °C", "21 degrees Celsius"),
        ("5 * 6 < 7", "5 times 6 less than 7"),
        ("e.g. this, i.e. that", "for example this, that is that"),
        ("See https://www.example.com/a-b.", "See example dot com slash a dash b."),
        ("a.b@example.org", "a dot b at example dot org"),
        (
            "Go to example.com/x, not e.g. Node.js.",
            "Go to example dot com slash x, not for example Node.js.",
        ),
        ("7 < 8, 7<8, a->b, 2 * 3", "7 less than 8, 7 less than 8, a-b, 2 times 3"),
        ("**bold** _it_ ~~gone~~ `code` snake_case", "bold it gone code snake case"),
        ("<|im_start|>Hi<custom_token_12> <laugh> you</s>", "Hi you"),
        ("שלום עולם", "שלום עולם"),
    ],
)
def test_what_is_spoken(written: str, spoken: str) -> None:
    assert normalise(written).text == spoken


@pytest.mark.parametrize("text", ["", " \n\t", "?!...", "😀", "<|im_end|>", "- ", "**", "\u200b"])
def test_nothing_to_say(text: str) -> None:
    assert not normalise(text).speakable


@pytest.mark.parametrize("text", ["a", "7", "ש", "**x**"])
def test_something_to_say(text: str) -> None:
    assert normalise(text).speakable


def test_words_know_how_they_were_written() -> None:
    spoken = normalise("Come at **15:30**, 😀 R&D waits.")
    assert spoken.words == ("Come", "at", "fifteen", "thirty,", "R", "and", "D", "waits.")
    assert [spoken.written[index] for index in spoken.origin] == [
        "Come", "at", "15:30,", "15:30,", "R&D", "R&D", "R&D", "waits.",
    ]  # fmt: skip


def test_numbers_are_words_for_an_engine_that_does_not_read_digits() -> None:
    spoken = normalise("**Dr.** Smith paid $3.50 at 5 p.m.", reads_digits=False)
    assert spoken.text == "Doctor Smith paid three dollars and fifty cents at five p.m."
    assert [spoken.written[index] for index in spoken.origin] == [
        "Dr.", "Smith", "paid", *["$3.50"] * 5, "at", "5", "p.m.",
    ]  # fmt: skip


@pytest.mark.parametrize("reads_digits", [True, False])
def test_only_english_is_put_into_words(reads_digits: bool) -> None:
    text = "Um 15:30, 3,5 % & 5 €: a@b.de"
    assert normalise(text, reads_digits=reads_digits, language="de").text == text
    assert "fifteen thirty" in normalise(text, reads_digits=reads_digits, language="en-GB").text


def test_a_sound_is_said_and_is_no_written_word() -> None:
    spoken = normalise("Oh <SIGH>, it is 3:30 <laugh>.", sounds=SOUNDS)
    assert spoken.text == "Oh <sigh>, it is three thirty <laugh>."
    assert spoken.words == ("Oh", "it", "is", "three", "thirty")
    assert spoken.written == ("Oh", "it", "is", "3:30")
    assert spoken.origin == (0, 1, 2, 3, 3)


def test_a_sound_alone_is_something_to_say() -> None:
    spoken = normalise("<laugh>", sounds=SOUNDS)
    assert (spoken.text, spoken.words, spoken.speakable) == ("<laugh>", (), True)
    assert not normalise("<laugh>").speakable


_PIECES = st.sampled_from(
    ["<", ">", "<|", "|>", "<<", ">>", "</", "custom_token_5", "eot_id", "&lt;", "&gt;", "<laugh>",
     "<Sigh>", "<laugh", "sigh>", "word", "5", " ", "\n", "*", "_", "\ue000", "-", "$", "°", "%"]
)  # fmt: skip
_TEXTS = st.text(max_size=400) | st.lists(_PIECES, max_size=40).map("".join)


@given(_TEXTS, st.booleans(), st.sampled_from(["en-US", "en", "de"]))
def test_nothing_but_known_sounds_is_in_angle_brackets(
    text: str, reads_digits: bool, language: str
) -> None:
    spoken = normalise(text, sounds=SOUNDS, reads_digits=reads_digits, language=language)
    rest = spoken.text
    for sound in SOUNDS:
        rest = rest.replace(sound, "")
    assert not {"<", ">", "|", "\0"} & set(rest)
    assert not any("<" in word for word in spoken.words)
    assert "<" not in normalise(text, reads_digits=reads_digits, language=language).text


@given(_TEXTS, st.booleans())
def test_any_text_is_accepted(text: str, reads_digits: bool) -> None:
    spoken = normalise(text, sounds=SOUNDS, reads_digits=reads_digits)
    assert len(spoken.words) == len(spoken.origin)
    assert list(spoken.origin) == sorted(spoken.origin)
    assert all(word.split() == [word] for word in spoken.words)
    assert all(0 <= index < len(spoken.written) for index in spoken.origin)
    assert [word for word in spoken.text.split() if word[0] != "<"] == list(spoken.words)
