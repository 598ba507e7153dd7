"""One round: a load on one voice for so long, and the numbers that come of it."""

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bench.percentiles import Percentiles
from bench.server_load import Load, LoadMeter
from bench.tts.listeners import Heard, arrive, keep_listening
from bench.tts.playout import Playout, play
from bench.tts.wires import Wire

LoadKind = Literal["replies per second", "listeners"]
"""An open loop of so many arrivals, or a fixed number who keep listening."""

_CLIENT_LATE_S: Final = 0.02
"""A client that is later than this (p99) disturbs what it measures."""


@dataclass(frozen=True)
class System:
    """A voice under test, and how to ask it."""

    name: str
    description: str
    wire: Wire
    pid: int
    """Of its process; this one for voices that run in it."""
    url: str | None = None
    """Where our server's metrics are; None for others."""

    @property
    def in_process(self) -> bool:
        """Whether it runs in this process."""
        return self.pid == os.getpid()


@dataclass(frozen=True)
class Span:
    """How long and how a round is."""

    settle_s: float
    """Time in which what is asked for does not count."""
    talk_s: float
    """Time that counts; replies that are open by then are waited for."""
    seed: int = 0
    """Of arrivals and order."""


@dataclass(frozen=True)
class Round:
    """The result of one round. Percentiles are of the replies that came whole."""

    system: str
    load_kind: LoadKind
    step: float
    """The load: replies asked for per second, or listeners."""
    talk_s: float
    replies: int
    """That came whole."""
    first_byte_s: Percentiles | None
    """From the first text to the first audio, silent or not."""
    audible_s: Percentiles | None
    """From the first text to the first sample that an ear hears."""
    rtf: Percentiles | None
    """From the first text to the last audio, divided by the audio; waiting for text is in it."""
    lead_s: Percentiles | None
    """Silence that replies open with."""
    under_run_replies: int
    """Replies with a gap."""
    gaps: int
    gap_s: Percentiles | None
    longest_gap_s: float
    streams_mean: float
    """Replies being played at once, on average over the time that counts."""
    streams_peak: int
    audio_s_per_s: float
    """Audio received per second of the round, by all."""
    engine_rtf: float | None
    """Engine time divided by the audio, of our server; None for others."""
    refused: int
    failed: int
    load: Load
    client_cores: float
    """0 for a voice that runs in this process: it is in `load`."""
    client_lateness_p99_s: float
    problems: tuple[str, ...] = ()

    @property
    def client_saturated(self) -> bool:
        """Whether the load generator was too busy for its own clock."""
        return self.client_lateness_p99_s > _CLIENT_LATE_S

    def within(self, bound_s: float) -> bool:
        """Whether everybody heard a whole reply without a gap, 95 of 100 within the bound."""
        if self.refused or self.failed or self.under_run_replies or self.audible_s is None:
            return False
        return math.isfinite(self.audible_s.p99) and self.audible_s.p95 <= bound_s


async def run_round(
    system: System, texts: Sequence[str], kind: LoadKind, step: float, span: Span
) -> Round:
    """Load a voice and listen.

    Args:
        system: the voice.
        texts: the replies.
        kind: what the load is counted in.
        step: how much of it.
        span: for how long.
    """
    meter = LoadMeter(system.pid, system.url)
    client_before, began_s = time.process_time(), time.perf_counter()
    heard = await _listen(system.wire, texts, kind, step, span)
    wall_s = time.perf_counter() - began_s
    client_cores = (time.process_time() - client_before) / wall_s
    load = meter.read(wall_s)
    whole = [spoken for spoken in heard.replies if not spoken.failure]
    refused = sum(spoken.refused for spoken in heard.replies)
    played = [play(spoken.pieces, spoken.asked_at_s) for spoken in whole]
    earlier = [play(spoken.pieces, spoken.asked_at_s) for spoken in heard.earlier if spoken.pieces]
    counted_from_s = began_s + span.settle_s
    mean, peak = at_once([*earlier, *played], counted_from_s, counted_from_s + span.talk_s)
    audio_s = sum(playout.audio_s for playout in (*earlier, *played))
    gaps = [gap_s for playout in played for gap_s in playout.gaps_s]
    tokens_late = [late_s for spoken in whole for late_s in spoken.lateness_s]
    late = Percentiles.of([*heard.lateness_s, *tokens_late])
    return Round(
        system=system.name,
        load_kind=kind,
        step=step,
        talk_s=span.talk_s,
        replies=len(whole),
        first_byte_s=Percentiles.of([playout.first_byte_s for playout in played]),
        audible_s=Percentiles.of([playout.audible_s for playout in played]),
        rtf=Percentiles.of([playout.took_s / playout.audio_s for playout in played]),
        lead_s=Percentiles.of([playout.lead_s for playout in played]),
        under_run_replies=sum(bool(playout.gaps_s) for playout in played),
        gaps=len(gaps),
        gap_s=Percentiles.of(gaps),
        longest_gap_s=max(gaps, default=0.0),
        streams_mean=mean,
        streams_peak=peak,
        audio_s_per_s=audio_s / wall_s,
        engine_rtf=load.engine_s / audio_s if load.engine_s and audio_s else None,
        refused=refused,
        failed=len(heard.replies) - len(whole) - refused,
        load=load,
        client_cores=0.0 if system.in_process else client_cores,
        client_lateness_p99_s=late.p99 if late else 0.0,
        problems=tuple(sorted({spoken.failure for spoken in heard.replies if spoken.failure})),
    )


async def _listen(
    wire: Wire, texts: Sequence[str], kind: LoadKind, step: float, span: Span
) -> Heard:
    how = {"settle_s": span.settle_s, "talk_s": span.talk_s}
    if kind == "listeners":
        return await keep_listening(wire, texts, streams=round(step), seed=span.seed, **how)
    return await arrive(wire, texts, rate_hz=step, seed=span.seed, **how)


def at_once(played: Sequence[Playout], from_s: float, until_s: float) -> tuple[float, int]:
    """How many replies are played at once in a stretch of time: on average, and at most."""
    inside = [
        (max(playout.began_at_s, from_s), min(playout.ended_at_s, until_s)) for playout in played
    ]
    inside = [(begins_s, ends_s) for begins_s, ends_s in inside if ends_s > begins_s]
    total_s = sum(ends_s - begins_s for begins_s, ends_s in inside)
    # At the same moment one ends before another begins.
    changes = sorted(
        [(begins_s, 1) for begins_s, _ in inside] + [(ends_s, -1) for _, ends_s in inside]
    )
    running = peak = 0
    for _, change in changes:
        running += change
        peak = max(peak, running)
    return total_s / (until_s - from_s), peak
