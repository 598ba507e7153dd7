import pytest

from language_server.dialogue.phonetics import sound_key, sound_text


@pytest.mark.parametrize(
    ("one", "other"),
    [("hours", "ours"), ("night", "nite"), ("whole", "hole"), ("know", "no"), ("there", "their")],
)
def test_words_that_sound_alike_look_alike(one: str, other: str) -> None:
    assert sound_key(one) == sound_key(other)


def test_word_boundaries_do_not_matter() -> None:
    assert sound_text("re schedule") == sound_text("reschedule")


def test_different_words_differ() -> None:
    assert sound_key("cancel") != sound_key("move")
