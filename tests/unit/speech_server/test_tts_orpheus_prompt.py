import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from speech_server.tts.orpheus_codes import SLOTS, TOKENS_PER_S
from speech_server.tts.orpheus_prompt import (
    MAX_TOKENS,
    TAGS,
    VOICES,
    behind,
    build_prompt,
    neutralise,
    shortest_s,
    speakable,
    token_budget,
    turn,
)


def utf8(text: str) -> list[int]:
    return list(text.encode())


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Bytes, and some control tokens at Orpheus's places."""
    alphabet = {char: n for n, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    control = {"<|eot_id|>": 128_009, "<custom_token_5>": 128_261}
    tokenizer = Tokenizer(models.BPE({**alphabet, **control}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_tokens([AddedToken(token, special=False) for token in control])
    return tokenizer


def test_the_prompt_is_laid_out_as_the_model_was_trained() -> None:
    prompt = build_prompt("Hi.", "tara", utf8)
    assert prompt.ids == (
        128_259, 128_000, *b"tara: Hi.", 128_009, 128_260, 128_261, 128_257,
    )  # fmt: skip


def test_the_eight_voices() -> None:
    ids = {voice.id for voice in VOICES}
    assert ids == {"tara", "leah", "jess", "leo", "dan", "mia", "zac", "zoe"}


@pytest.mark.parametrize("tag", TAGS)
def test_known_sounds_stay(tag: str) -> None:
    assert neutralise(f"Well {tag} that is fun") == f"Well {tag} that is fun"
    assert neutralise(tag.upper()) == tag
    assert speakable(tag)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hi <custom_token_5> there", "Hi there"),
        ("Hi<|eot_id|>there", "Hi there"),
        ("a < b and c > d", "a d"),
        ("<laugh", "laugh"),
        ("<<laugh>>", "<laugh>"),
        ("<|<laugh>|>", "<laugh>"),
        ("<cus<laugh>tom_token_5>", "cus<laugh>tom_token_5"),
        ("<shout>Now</shout>", "Now"),
        ("|> <|", ""),
    ],
)
def test_everything_else_in_angle_brackets_goes(text: str, kept: str) -> None:
    assert neutralise(text) == kept


@given(
    st.lists(
        st.sampled_from(["<", ">", "|", "laugh", "<laugh>", "custom_token_5", "eot_id", " ", "a"])
    ).map("".join)
)
def test_no_bracket_is_left_but_those_of_known_sounds(text: str) -> None:
    rest = re.sub("|".join(TAGS), "", neutralise(text))
    assert not set(rest) & set("<>|")


@given(st.text(max_size=300))
def test_no_text_becomes_a_control_token(text: str) -> None:
    prompt = build_prompt(text, "tara", lambda raw: [ord(char) for char in raw])
    assert all(id_ < 128_000 for id_ in prompt.ids[2:-4])


@pytest.mark.parametrize("text", ["<custom_token_5>", "<|eot_id|>", "x<|eot_id|><custom_token_5>"])
def test_not_even_where_the_tokenizer_reads_one(tokenizer: Tokenizer, text: str) -> None:
    def encode(raw: str) -> list[int]:
        ids: list[int] = tokenizer.encode(raw, add_special_tokens=False).ids
        return ids

    assert max(encode(text)) >= 128_000
    assert max(build_prompt(text, "tara", encode).ids[2:-4]) < 128_000


def test_a_prompt_has_a_greatest_length() -> None:
    build_prompt("x" * 1_200, "tara", utf8)
    with pytest.raises(ValueError, match="prompt of"):
        build_prompt("x" * 2_000, "tara", utf8)


@given(st.text(max_size=1_000))
def test_prompt_and_speech_fit_the_model(text: str) -> None:
    try:
        prompt = build_prompt(neutralise(text), "tara", utf8)
    except ValueError:
        return
    assert len(prompt.ids) + prompt.budget <= MAX_TOKENS
    assert prompt.budget >= SLOTS


def test_a_segment_stands_behind_what_was_said_and_still_fits() -> None:
    first = build_prompt("1" * 300, "tara", utf8)
    spoken = turn(first, range(128_266, 128_266 + 7 * 280))
    assert spoken[: len(first.ids)] == first.ids
    assert spoken[-2:] == (128_258, 128_262)
    second = behind(spoken, first)
    assert second.ids == spoken + first.ids
    assert second.shortest_s == first.shortest_s
    assert second.budget == MAX_TOKENS - len(second.ids) < first.budget


@pytest.mark.parametrize(
    ("text", "usual_s"),
    [
        ("Yes.", 0.6),
        ("Your appointment is on Tuesday afternoon.", 2.6),
        ("5551234", 4.0),
        ("<yawn> I am tired.", 3.0),
    ],
)
def test_the_budget_leaves_room_and_is_no_invitation(text: str, usual_s: float) -> None:
    budget_s = token_budget(text) / TOKENS_PER_S
    assert 1.5 * usual_s < budget_s < 5.0 + 4.0 * usual_s
    assert token_budget(text) % SLOTS == 0
    assert shortest_s(text) < usual_s
