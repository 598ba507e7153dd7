"""The machine and what runs on it, for the record that a figure needs."""

import math
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil


def hardware() -> dict[str, Any]:
    """The machine, and how much of it others used before the run."""
    return {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "load_average": os.getloadavg(),
        "gpu": gpu_name(),
        "system": platform.platform(),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Python and those of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def gpu_name() -> str | None:
    """The GPU with its driver, clock and memory; None where there is none."""
    query = "--query-gpu=name,driver_version,clocks.max.sm,memory.total"
    try:
        asked = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip()


def as_result(summary: Mapping[str, Any], packages: Iterable[str], **found: Any) -> dict[str, Any]:
    """The JSON object of a run: its headline figures, where and when they were made, the rest.

    Args:
        summary: the headline figures.
        packages: distributions whose versions matter.
        found: further parts, by name.
    """
    result: dict[str, Any] = finite(
        {
            "summary": summary,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "hardware": hardware(),
            "versions": versions(packages),
            **found,
        }
    )
    return result


def finite(value: Any) -> Any:
    """A value for JSON, which knows no infinity: what never came is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(item) for item in value]
    return value


def _cpu_model() -> str:
    try:
        lines: Iterable[str] = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = ()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())
