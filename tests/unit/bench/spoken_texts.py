"""A voice of this process for tests, and made-up rounds."""

import asyncio
import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from bench.percentiles import Percentiles
from bench.tts.playout import Piece
from bench.tts.rounds import Round
from bench.tts.wires import Spoken
from tests.unit.bench.measured import IDLE
from voice_agent.caller.sound import RATE_HZ


@dataclass
class ToneWire:
    """Speaks every text as a tone; some texts fail, and some wait."""

    audio_s: float = 0.05
    failures: dict[str, str] = field(default_factory=dict)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    """Texts that are spoken when their event is set."""
    asked: list[str] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def asked_for(self, replies: int) -> None:
        """Wait until so many were asked for, whether they have been spoken or not."""
        while len(self.asked) < replies:
            self._more.clear()
            await self._more.wait()

    async def speak(self, text: str) -> Spoken:
        self.asked.append(text)
        self._more.set()
        spoken = Spoken(text, time.perf_counter(), failure=self.failures.get(text, ""))
        spoken.refused = spoken.failure == "overloaded"
        await self.held.get(text, _SET).wait()
        if not spoken.failure:
            tone = np.full(round(self.audio_s * RATE_HZ), 5000, np.int16)
            spoken.pieces.append(Piece(time.perf_counter(), tone))
        return spoken


_SET = asyncio.Event()
_SET.set()

_FAST = Percentiles(0.1, 0.1, 0.1)
QUIET = Round(
    system="parley",
    load_kind="replies per second",
    step=1.0,
    talk_s=10.0,
    replies=10,
    first_byte_s=_FAST,
    audible_s=_FAST,
    rtf=_FAST,
    lead_s=Percentiles(0.02, 0.02, 0.02),
    under_run_replies=0,
    gaps=0,
    gap_s=None,
    longest_gap_s=0.0,
    streams_mean=3.5,
    streams_peak=5,
    audio_s_per_s=3.5,
    engine_rtf=0.01,
    refused=0,
    failed=0,
    load=IDLE,
    client_cores=0.1,
    client_lateness_p99_s=0.0,
)
"""A round in which nobody waited."""


def heard(system: str, step: float, p95_s: float, *, gaps: int = 0) -> Round:
    """A round with the given outcome."""
    audible = Percentiles(p95_s / 2, p95_s, p95_s) if math.isfinite(p95_s) else None
    return replace(
        QUIET,
        system=system,
        step=step,
        audible_s=audible,
        gaps=gaps,
        under_run_replies=gaps,
        longest_gap_s=0.05 * gaps,
        streams_mean=3.5 * step,
    )
