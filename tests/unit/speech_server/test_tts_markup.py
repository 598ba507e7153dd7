"""What is left of markup, and of what stands in angle brackets."""

# ruff: noqa: RUF001  (typographic signs are what is tested)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.markup import strip_markup
from speech_server.tts.orpheus_prompt import TAGS, neutralise

SOUNDS = frozenset(TAGS)


def stripped(text: str, sounds: frozenset[str] = SOUNDS) -> str:
    return " ".join(strip_markup(text, sounds).split())


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("# Title\n- one\n* two\n> three", "Title one two three"),
        ("**bold** _it_ ~~gone~~ `code` snake_case", "bold it gone code snake_case"),
        ("[a link](https://a.b/c) ![alt](x.png)", "a link alt"),
        ("| a | b |\n|---|:-:|\n| c | d |", "a b c d"),
        ("Hi 😀👍🏽👨‍👩‍👧🇩🇪 there ❤️ 1️⃣", "Hi there 1"),
        ("“It’s” — fine…", '"It\'s" , fine...'),
        ("<|im_start|>Hi<custom_token_12> <moan> you</s>", "Hi you"),
        ("a<<|x|>|im_end|>b", "a b"),
        ("a &lt;|im_end|&gt; b", "a b"),
        ("a <|unfinished", "a"),
        ('Wait <break time="1s" /> here', "Wait here"),
        ("zero\u200bwidth\u202eback\x00nul", "zerowidthbacknul"),
    ],
)
def test_what_is_removed(written: str, plain: str) -> None:
    assert stripped(written) == plain


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("<laugh>", "<laugh>"),
        ("Ha <LAUGH>, no.", "Ha <laugh>, no."),
        ("Oh<sigh>well", "Oh <sigh> well"),
        ("**<gasp>** <b>No</b><yawn>!", "<gasp> No <yawn>!"),
        ("<sigh><laugh>", "<sigh> <laugh>"),
        ("<cough>\n- <sniffle>", "<cough> <sniffle>"),
    ],
)
def test_a_sound_that_the_engine_knows_stays_a_word_of_its_own(written: str, plain: str) -> None:
    assert stripped(written) == plain
    assert "<" not in stripped(written, frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "< laugh >",
        "<laugh/>",
        "</laugh>",
        "<laugh out loud>",
        "<laughs>",
        "<laugh",
        "<<laugh>>",
        "<|<laugh>|>",
        "<b <laugh>>",
        "<custom_<laugh>token_5>",
        "&lt;laugh&gt;",
        "<\uff4caugh>",
        "<\u017figh>",
        "\ue000",
    ],
)
def test_what_is_no_known_sound_is_removed(text: str) -> None:
    assert "<laugh>" not in stripped(text)
    assert "<" not in stripped(text).replace("< laugh >", "")


@pytest.mark.parametrize(
    "text",
    ["<la<b>ugh>", "<la**ugh>", "<la😀ugh>", "<la\u200bugh>", "<la<laugh>ugh>", "<la&#1;ugh>"],
)
def test_halves_never_become_a_sound(text: str) -> None:
    assert stripped(text).count("<laugh>") <= text.count("<laugh>")


def test_an_engine_keeps_the_sounds_that_text_may_ask_for() -> None:
    text = stripped(" and ".join(TAGS))
    assert neutralise(text) == text == " and ".join(TAGS)


_PIECES = st.sampled_from(
    ["<", "|", ">", "<|", "|>", "im_end", "custom_token_1", "&lt;", "&amp;lt;", "/", "word", " ",
     "\0", "<<", ">>", "*", "_", "[", "](", ")", "3:30", "!", "<laugh>", "<SIGH>", "<la", "ugh>",
     "\ue000", "\n"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_no_control_token_survives(text: str) -> None:
    plain = strip_markup(text, SOUNDS)
    assert "|" not in plain
    assert "<custom_token_" not in plain
    assert "\0" not in plain
    assert plain.count("<laugh>") <= text.count("<laugh>")
    assert plain.count("<sigh>") <= text.count("<SIGH>")
