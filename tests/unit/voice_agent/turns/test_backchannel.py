import pytest

from voice_agent.turns.backchannel import LONGEST_S, is_backchannel


@pytest.mark.parametrize(
    "text",
    [
        "Mhm.",
        "Okay.",
        "Yeah",
        "Uh huh.",
        "I see.",
        "All right.",
        "Yes, okay.",
        "Oh, I see.",
        "Mm-hmm.",
    ],
)
def test_signs_of_listening(text: str) -> None:
    assert is_backchannel(text, 0.5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Stop.",
        "Wait.",
        "No.",
        "Okay?",
        "Okay, but what does it cost?",
        "Yes, but not in the morning.",
        "Okay okay okay okay okay",
        "I see the doctor.",
    ],
)
def test_wanting_the_floor(text: str) -> None:
    assert not is_backchannel(text, 0.8)


def test_a_long_sound_is_more_than_a_sign() -> None:
    assert not is_backchannel("Yeah.", LONGEST_S + 0.1)


@pytest.mark.parametrize("misread", ["That might.", "Uh-hu", "Claude."])
def test_a_very_short_sound_is_a_sign_whatever_was_read_in_it(misread: str) -> None:
    assert is_backchannel(misread, 0.6)
    assert not is_backchannel(misread, 0.8)


@pytest.mark.parametrize("text", ["Stop.", "No.", "Wait.", "What?", "Sorry.", "Friday.", "At ten."])
def test_wanting_the_floor_is_never_too_short(text: str) -> None:
    assert not is_backchannel(text, 0.2)
