import pytest

from voice_agent.asked_to_wait import asked_to_wait


@pytest.mark.parametrize(
    "text",
    [
        "Hold on.",
        "Hang on a second, there is somebody at the door.",
        "One moment, please.",
        "Just a minute.",
        "Okay, give me a second.",
        "Could you wait a minute?",
        "Let me check my diary.",
        "Bear with me",
        "Hold the line, please.",
    ],
)
def test_a_request_for_a_moment(text: str) -> None:
    assert asked_to_wait(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "When do you open?",
        "I would like the second appointment.",
        "The meeting takes one hour and I cannot wait any longer.",
        "Hold on, before that I would like to know what it costs to have it done on Saturdays.",
        "Einen Moment, bitte.",
    ],
)
def test_anything_else(text: str) -> None:
    assert not asked_to_wait(text)
