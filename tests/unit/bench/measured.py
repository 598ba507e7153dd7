"""Made-up rounds for tests."""

import math

from bench.percentiles import Percentiles
from bench.server_load import Load
from bench.stt.rounds import Round

IDLE = Load(0.1, 0.05, (), 10**8)


def measured(
    system: str,
    streams: int,
    p95_s: float,
    *,
    wer: float | None = None,
    offline_wer: float | None = None,
    against_offline: tuple[tuple[str, int, int], ...] = (),
    lost: int = 0,
    load: Load = IDLE,
    lateness_s: float = 0.0,
) -> Round:
    """A round with the given outcome."""
    return Round(
        system=system,
        streams=streams,
        talk_s=10.0,
        finals=10,
        final_s=Percentiles(p95_s / 2, p95_s, p95_s) if math.isfinite(p95_s) else None,
        after_finalize_s=Percentiles(0.0, p95_s, p95_s),
        interim_s=None,
        interims=0,
        interim_hz=None,
        wer=wer,
        offline_wer=offline_wer,
        wer_against_offline=None,
        against_offline=against_offline,
        decodes_per_final=2.0,
        engine_rtf=0.1,
        refused=0,
        lost=lost,
        load=load,
        client_cores=0.1,
        client_lateness_p99_s=lateness_s,
    )
