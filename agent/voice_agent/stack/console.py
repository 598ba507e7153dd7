"""What the user sees of the processes: every line with its process's name, and a log file each."""

import datetime
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from honcho.colour import get_colours
from honcho.printer import Message, Printer

HIDDEN_FIELDS = re.compile(r"message|level|name|timestamp|pid|exc_info|code\..*")
"""Fields of a JSON log line that are shown elsewhere in the line, or help nobody on a terminal."""

NAME_WIDTH = 9
LOG_KEPT_BYTES = 5_000_000
"""A log file larger than this is set aside at the next start; one older file is kept."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Console:
    """Prints lines of several processes, prefixed and coloured, and appends them to log files.

    Args:
        output: where to print; colours only where it is a terminal.
        log_dir: folder of the log files, `<process>.log`; made where missing.
        quiet: print only our own lines; log files are written all the same.
    """

    def __init__(self, output: TextIO, log_dir: Path, *, quiet: bool = False) -> None:
        self._output = output
        self.log_dir = log_dir
        self._quiet = quiet
        self._printer = Printer(output, width=NAME_WIDTH)
        self._colours = get_colours()
        self._colour_of: dict[str, str] = {}
        self._logs: dict[str, TextIO] = {}
        log_dir.mkdir(parents=True, exist_ok=True)

    def process_line(self, name: str, line: str) -> None:
        """A line that a process wrote."""
        log = self._log(name)
        log.write(_ANSI.sub("", line) + "\n")
        log.flush()
        if not self._quiet:
            if name not in self._colour_of:
                self._colour_of[name] = next(self._colours)
            line = readable(line)
            message = Message("line", line, datetime.datetime.now(), name, self._colour_of[name])
            with self._reader_may_leave():
                self._printer.write(message)

    def say(self, line: str) -> None:
        """A line of our own: no prefix, so that `Ready: URL` can be read by a program."""
        with self._reader_may_leave():
            print(line, file=self._output, flush=True)
        log = self._log("run")
        log.write(f"{datetime.datetime.now():%H:%M:%S} {line}\n")
        log.flush()

    @contextmanager
    def _reader_may_leave(self) -> Iterator[None]:
        """`parley run | head` must not stop the stack; the log files go on."""
        try:
            yield
        except BrokenPipeError:
            self._quiet = True

    def close(self) -> None:
        """Close the log files."""
        for log in self._logs.values():
            log.close()
        self._logs.clear()

    def _log(self, name: str) -> TextIO:
        if name not in self._logs:
            path = self.log_dir / f"{name}.log"
            if path.exists() and path.stat().st_size > LOG_KEPT_BYTES:
                path.replace(path.with_suffix(".log.1"))
            # livekit-sip writes telephone numbers.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._logs[name] = os.fdopen(descriptor, "a", encoding="utf-8")
        return self._logs[name]


def readable(line: str) -> str:
    """A JSON log line, as the worker writes them, as a person reads it; any other line as it is."""
    if not line.startswith('{"message":'):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    fields = [f"{key}={value}" for key, value in record.items() if not HIDDEN_FIELDS.fullmatch(key)]
    head = f"{record.get('level', '')} {record.get('name', '')} {record['message']}"
    trace = [str(record["exc_info"])] if record.get("exc_info") else []
    return "\n".join([" ".join([head, *fields]), *trace])
