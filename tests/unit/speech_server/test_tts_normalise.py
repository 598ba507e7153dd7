"""What is left of written text when it is spoken."""

# ruff: noqa: RUF001  (typographic signs are what is tested)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.normalise import normalise, strip_markup


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
        ("# Title\n- one\n* two\n> three", "Title one two three"),
        ("**bold** _it_ ~~gone~~ `code` snake_case", "bold it gone code snake case"),
        ("[a link](https://a.b/c) ![alt](x.png)", "a link alt"),
        ("| a | b |\n|---|:-:|\n| c | d |", "a b c d"),
        ("Hi 😀👍🏽👨‍👩‍👧🇩🇪 there ❤️ 1️⃣", "Hi there 1"),
        ("“It’s” — fine…", '"It\'s" , fine...'),
        ("<|im_start|>Hi<custom_token_12> <laugh> you</s>", "Hi you"),
        ("a<<|x|>|im_end|>b", "a b"),
        ("a &lt;|im_end|&gt; b", "a b"),
        ("a <|unfinished", "a"),
        ('Wait <break time="1s" /> here', "Wait here"),
        ("zero\u200bwidth\u202eback\x00nul", "zerowidthbacknul"),
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


_PIECES = st.sampled_from(
    ["<", "|", ">", "<|", "|>", "im_end", "custom_token_1", "&lt;", "&amp;lt;", "/", "word", " ",
     "\0", "<<", ">>", "*", "_", "[", "](", ")", "3:30", "!"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_no_control_token_survives(text: str) -> None:
    plain = strip_markup(text)
    assert "|" not in plain
    assert "<custom_token_" not in plain
    assert "\0" not in plain


@given(st.text(max_size=400))
def test_any_text_is_accepted(text: str) -> None:
    spoken = normalise(text)
    assert len(spoken.words) == len(spoken.origin)
    assert list(spoken.origin) == sorted(spoken.origin)
    assert all(word.split() == [word] for word in spoken.words)
    assert all(0 <= index < len(spoken.written) for index in spoken.origin)
