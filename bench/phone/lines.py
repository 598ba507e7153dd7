"""The recorded conversation of the tests, as something that the bench's callers say."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.call.sayings import Saying
from tests.stack import CHECKOUT
from voice_agent.caller.sound import FRAME_SAMPLES, RATE_HZ, audible_indices
from voice_agent.caller.wav import load_utterance

_FOLDER: Final = CHECKOUT / "tests" / "fixtures" / "conversation"
CONVERSATION: Final = "conversation"
"""Kind of its lines."""


def conversation() -> tuple[Saying, ...]:
    """Its five lines, in order; each ends with the frame of its last audible sample."""
    return tuple(_saying(path) for path in sorted(_FOLDER.glob("*.wav")))


def _saying(path: Path) -> Saying:
    recorded = load_utterance(path)
    audible = audible_indices(recorded.samples)
    assert audible is not None, f"{path} is silent"
    frames = recorded.last_audible // FRAME_SAMPLES + 1
    return Saying(
        part=CONVERSATION,
        kind=CONVERSATION,
        voice="",
        pauses_s=(),
        onset_s=audible[0] / RATE_HZ,
        utterance=replace(recorded, samples=recorded.samples[: frames * FRAME_SAMPLES]),
    )
