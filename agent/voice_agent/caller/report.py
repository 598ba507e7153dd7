"""The result of a call: one JSON object for programs, one table for people."""

from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import BaseModel, Field, computed_field
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from voice_agent.caller.errors import CallFailure
from voice_agent.turn_report import TurnStages


class Greeting(BaseModel):
    """What the agent said first."""

    reply: str
    """The agent's words."""
    first_sound_s: float
    """Joined the room to the first audible sample, seconds."""
    duration_s: float
    """First to last audible sample, seconds."""


class Turn(BaseModel):
    """One go of the caller's and its answer."""

    turn: int
    """1 for the first."""
    kind: Literal["voice", "text"]
    """Spoken, or typed into the chat."""
    said: str
    """What the caller said: the text beside the recording, else its file name; or what it typed."""
    heard_by_agent: str = ""
    """What the agent made of it."""
    reply: str = ""
    """The agent's words."""
    voice_to_voice_s: float | None = None
    """The caller's last audible sample handed over, to the first audible sample of the answer,
    seconds. Negative when the agent spoke before the caller had finished; None when nothing came
    or the turn was typed."""
    text_to_voice_s: float | None = None
    """For a typed turn: sent to the first audible sample, seconds."""
    answered_early: bool = False
    """The agent spoke while the caller was speaking: a false cut-off, or a back-channel."""
    answer_duration_s: float | None = None
    """First to last audible sample of the answer with the pauses in it, seconds."""
    caller_late_s: float | None = None
    """By how much the sending was late at worst, seconds; bounds the error of the latency."""
    interrupted: bool = False
    """The agent says that its answer was interrupted."""
    stages: TurnStages | None = None
    """The agent's own view of the delays; None when it sent none."""


class CallError(BaseModel):
    """One reason why the call did not do what was asked."""

    code: CallFailure
    message: str
    turn: int | None = None
    """The turn in which it happened; None outside the turns."""


class CallReport(BaseModel):
    """Everything about one call. `ok` only when every turn got an audible answer."""

    turns: list[Turn] = Field(default_factory=list)
    greeting: Greeting | None = None
    errors: list[CallError] = Field(default_factory=list)
    room: str | None = None
    """The room's name."""
    agent: str | None = None
    """The agent's identity in the room."""
    agent_joined_s: float | None = None
    """Joined the room to the agent's coming, seconds."""
    agent_hung_up: bool = False
    """The agent ended the call."""
    duration_s: float = 0.0
    """Joined to left, seconds."""
    recording: Path | None = None
    """The stereo recording: the caller left, the agent right."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether the call did what was asked."""
        return not self.errors

    @computed_field  # type: ignore[prop-decorator]
    @property
    def voice_to_voice_p50_s(self) -> float | None:
        """Median over the spoken turns that were not answered early, seconds."""
        latencies = self._latencies_s()
        return median(latencies) if latencies else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def voice_to_voice_max_s(self) -> float | None:
        """Largest over the same turns, seconds."""
        return max(self._latencies_s(), default=None)

    def _latencies_s(self) -> list[float]:
        return [
            turn.voice_to_voice_s
            for turn in self.turns
            if turn.voice_to_voice_s is not None and not turn.answered_early
        ]


def latency_table(report: CallReport) -> Table:
    """Latency of each turn with its stages, then the median and the maximum."""
    table = Table(
        title="Voice to voice at the caller's ear, milliseconds",
        caption="Stages as the agent saw them; they overlap, so they do not add up.",
        box=SIMPLE,
    )
    # fits 80 columns: the caller's words give way, never a figure
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("said", overflow="ellipsis", no_wrap=True, max_width=22)
    table.add_column("voice to\nvoice", justify="right", style="bold", min_width=8)
    table.add_column("tran-\nscript", justify="right", min_width=6)
    table.add_column("end of\nturn", justify="right", min_width=6)
    table.add_column("LLM\nTTFT", justify="right", min_width=4)
    table.add_column("TTS\nTTFB", justify="right", min_width=4)
    table.add_column("note", min_width=4)
    for turn in report.turns:
        stages = turn.stages or TurnStages()
        table.add_row(
            str(turn.turn),
            escape(turn.said),
            _ms(turn.voice_to_voice_s if turn.kind == "voice" else turn.text_to_voice_s),
            _ms(stages.transcription_delay_s),
            _ms(stages.end_of_turn_delay_s),
            _ms(stages.llm_ttft_s),
            _ms(stages.tts_ttfb_s),
            _note(turn),
        )
    table.add_section()
    table.add_row("", "median", _ms(report.voice_to_voice_p50_s))
    table.add_row("", "maximum", _ms(report.voice_to_voice_max_s))
    return table


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.0f}"


def _note(turn: Turn) -> str:
    notes = []
    if turn.kind == "text":
        notes.append("typed")
    if turn.answered_early:
        notes.append("answered early")
    if turn.interrupted:
        notes.append("interrupted")
    if turn.voice_to_voice_s is None and turn.text_to_voice_s is None:
        notes.append("no answer")
    return ", ".join(notes)
