"""Looks for a number in what a call has left behind, however it may be written there."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import psutil

from voice_agent.telephony.spoken_digits import digit_runs

_APART = r"[^0-9A-Za-z]{0,6}"
"""Between two digits: groups, dashes, dots, a list in JSON."""
_LONE = re.compile(r"(?<![0-9A-Za-z.])[0-9](?![0-9A-Za-z.])")
"""A digit by itself, as a log has it that names each key."""
_TIME = re.compile(r"\b[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?")
"""Of a line of a log; it holds any three or four digits once in a while."""


def places(number: str, texts: Mapping[str, str]) -> list[str]:
    """Names of the texts that hold a number: in one piece, in groups, in words, or key by key.

    Args:
        number: at least three digits. One that may occur by chance should begin with a zero: what
            counts or measures writes none.
        texts: name → what is there.
    """
    written = re.compile(rf"(?<![0-9A-Za-z.:-]){_APART.join(number)}(?![0-9A-Za-z])")
    return [name for name, text in texts.items() if _holds(number, written, _TIME.sub("", text))]


def _holds(number: str, written: re.Pattern[str], text: str) -> bool:
    return (
        written.search(text) is not None
        or (len(number) > 8 and number in text)
        or (len(number) > 8 and number in "".join(_LONE.findall(text)))
        or any(_says(number, line) for line in text.splitlines())
    )


def _says(number: str, line: str) -> bool:
    """Whether words say it."""
    # most lines name no number: looking closer at each word would take minutes
    if not _NUMBER_WORD.search(line):
        return False
    return any(number in "".join(said.value for said in run) for run in digit_runs(line))


_NUMBER_WORD = re.compile(
    r"\b(zero|oh|one|two|three|four|five|six|seven|eight|nine)\b", re.IGNORECASE
)


def files_of(folder: Path) -> dict[str, str]:
    """Every file below a folder, whatever it is: logs, databases, Redis's own, metrics."""
    return {
        os.fspath(path.relative_to(folder)): path.read_bytes().decode("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def command_lines() -> dict[str, str]:
    """How every process of this machine was started."""
    found = {}
    for process in psutil.process_iter(["pid", "cmdline"]):
        found[f"process {process.info['pid']}"] = " ".join(process.info["cmdline"] or ())
    return found
