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
    """How long the stages of one turn took, and when; seconds, None where nobody measured it.

    `…_at_s` counts from the caller's last sound as the worker knows it. Work that was done ahead,
    while the caller still spoke, is below 0.
    """

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

    transcript_at_s: float | None = None
    """The words of the turn were final."""
    committed_at_s: float | None = None
    """The turn was decided to be over."""
    llm_began_at_s: float | None = None
    """The request that was answered went to the model."""
    llm_first_token_at_s: float | None = None
    """Its first token came."""
    tts_began_at_s: float | None = None
    """The first text of the answer went to the voice."""
    tts_first_audio_at_s: float | None = None
    """Its first audio came."""
    audio_out_at_s: float | None = None
    """The first frame of the answer was handed to the room."""


class Speculation(BaseModel):
    """Answers that were begun before the turn was over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    started: int = 0
    used: int = 0
    """Spoken, since the words stayed as they were; 0 or 1 in a turn that was not split."""
    discarded: int = 0
    """Thrown away unheard: the caller went on, or the words changed."""


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
    user_turns: int = 0
    """How often the caller's turn was taken for over since the last answer: 1 for most answers,
    more where it was split, 0 for what is said unasked."""
    speculation: Speculation = Speculation()
    """Since the last report."""
