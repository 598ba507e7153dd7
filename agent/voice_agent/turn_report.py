"""What the worker tells the caller's client about a finished turn, on topic `parley.turn`.

Sent as one text stream for each thing that the agent said. Most are answers. One with an empty
`user_text` was said unasked: the greeting, "Are you still there?", an apology, a farewell. It has
the number of the turn that it follows, so a number may come more than once.

The page draws its waterfall from the reports and `parley call` prints them. All times are the
worker's own view; what the caller hears is later by the network and the play-out buffer, and only
the caller's client can measure that.
"""

from pydantic import BaseModel, ConfigDict

TURN_TOPIC = "parley.turn"
"""LiveKit text-stream topic."""


class TurnStages(BaseModel):
    """Delays inside one turn, seconds; None where the framework did not measure it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    transcription_delay_s: float | None = None
    """End of the caller's speech (as the VAD saw it) to the final transcript."""
    end_of_turn_delay_s: float | None = None
    """End of the caller's speech to the decision that the turn is over."""
    llm_ttft_s: float | None = None
    """Model request to its first token."""
    tts_ttfb_s: float | None = None
    """First text to the voice until its first audio byte."""
    e2e_latency_s: float | None = None
    """LiveKit's own figure; about 180 ms better than what the caller hears."""


class TurnReport(BaseModel):
    """One thing that the agent said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn: int
    """The caller's turn that this answers, or follows; 1 is their first, 0 before it."""
    user_text: str
    """What the agent heard; empty for what it says unasked."""
    agent_text: str
    """What the agent said, cut where it was interrupted."""
    interrupted: bool
    stages: TurnStages
