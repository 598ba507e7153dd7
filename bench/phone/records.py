"""What a run notes down."""

from dataclasses import dataclass, field
from typing import Final

from bench.phone.glitches import Glitch
from bench.phone.leftovers import Held
from voice_agent.turn_report import TurnStages

PHONE: Final = "phone"
BROWSER: Final = "browser"


@dataclass(frozen=True)
class PathTurn:
    """One thing said on one path, and what came of it."""

    path: str
    """`phone` or `browser`."""
    name: str
    """Of what was said: the same on both paths."""
    conversation: bool
    """Whether it is a line of the recorded conversation, not a turn of the recorded set."""
    said: str
    understood: str
    """As the agent wrote it down."""
    voice_to_voice_s: float | None
    """Last audible sample sent to the first one heard; None where the agent had cut the caller off,
    infinite where no answer came."""
    cut_off: bool
    caller_late_s: float
    """By how much the sending was late at worst, seconds; bounds the error of the figures."""
    stages: TurnStages | None
    """The agent's own view."""


@dataclass
class PhoneCall:
    """One telephone call."""

    call_id: str = ""
    answer_s: float | None = None
    """Invitation sent to its acceptance, seconds."""
    first_word_s: float | None = None
    """Invitation sent to the agent's first audible sample, seconds."""
    failure: str = ""
    """Why it did not go as it should; empty where it did."""
    sent: int = 0
    """Packets."""
    received: int = 0
    lost: int = 0
    """Of what livekit-sip sent, by sequence number."""
    sent_lost: int | None = None
    """Of what the telephone sent, by livekit-sip's own count; None where it was not looked up."""

    @property
    def lost_either_way(self) -> int:
        """Packets."""
        return self.lost + (self.sent_lost or 0)


@dataclass(frozen=True)
class Series:
    """Calls one after another, or in the same moment, and what they left behind."""

    calls: list[PhoneCall]
    left: Held

    @property
    def lost(self) -> int:
        """Packets of all calls, both ways."""
        return sum(call.lost_either_way for call in self.calls)

    @property
    def failures(self) -> list[str]:
        """Of the calls that did not go as they should."""
        return [call.failure for call in self.calls if call.failure]


@dataclass
class Listened:
    """What one call of a step heard."""

    call: PhoneCall = field(default_factory=PhoneCall)
    voice_to_voice_s: float | None = None
    glitches: list[Glitch] = field(default_factory=list)
    """Of the answer, compared with the same one heard alone."""
    late_gaps_s: list[float] = field(default_factory=list)
    """Breaks by sound that came too late, within the answer."""
    caller_late_s: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether it heard all that was said, in one piece."""
        whole = not self.call.failure and not self.call.lost
        return whole and not self.glitches and not self.late_gaps_s


@dataclass(frozen=True)
class Step:
    """So many calls at once."""

    calls: int
    heard: list[Listened]

    @property
    def clean(self) -> bool:
        """Whether every call of it was."""
        return all(one.clean for one in self.heard)
