"""Who is to be called: a CSV file with the columns `number`, `consent` and perhaps `timezone`."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from voice_agent.phone.campaign.rules import time_zone
from voice_agent.phone.errors import BadInput, one_line
from voice_agent.phone.numbers import is_e164

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_ROWS = 100_000
MAX_LINE_CHARS = 1000
MAX_FAULTS = 5
"""Mistakes that are told at once."""

REQUIRED, OPTIONAL = ("number", "consent"), ("timezone",)
_CONSENT = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody who may be called."""

    number: str
    """E.164."""
    zone: ZoneInfo
    """Where they are, for the hours at which they may be called."""


@dataclass(frozen=True)
class CallList:
    """What a file says."""

    contacts: Sequence[Contact]
    """Everybody who agreed to be called, in the file's order, nobody twice."""
    without_consent: int = 0
    """People whom the file names and who did not agree."""
    duplicates: int = 0
    """Rows that name somebody again."""


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    number: str
    consent: bool
    zone: str


class _Fault(Exception):
    """One row cannot be used."""


def read_call_list(path: Path, default_zone: str | None) -> CallList:
    """Read and check the whole file before anybody is called.

    Who stands in it twice is called once, and not at all when one of the rows says no.

    Args:
        path: the file.
        default_zone: time zone of rows that name none; None: every row must name one.

    Raises:
        BadInput: it cannot be read, is too large or has a mistake; names the lines.
    """
    faults: list[str] = []
    rows: dict[str, _Row] = {}
    duplicates = 0
    for line, fields in _lines(path):
        try:
            row = _row(line, fields, default_zone)
            if known := rows.get(row.number):
                duplicates += 1
                row = _merged(known, row)
        except _Fault as fault:
            faults.append(f"line {line}: {fault}")
            if len(faults) == MAX_FAULTS:
                break
            continue
        rows[row.number] = row
    if faults:
        raise BadInput(f"{path}: {'; '.join(faults)}")
    if not rows:
        raise BadInput(f"{path}: nobody to call: there is no row below the column names")
    contacts = [Contact(row.number, ZoneInfo(row.zone)) for row in rows.values() if row.consent]
    return CallList(contacts, len(rows) - len(contacts), duplicates)


def read_text(path: Path) -> str:
    """A file's text.

    Raises:
        BadInput: it cannot be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise BadInput(f"{path}: larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text") from error


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields of each row that is not empty."""
    text = read_text(path)
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > MAX_LINE_CHARS:
            raise BadInput(f"{path}: line {number}: longer than {MAX_LINE_CHARS} characters")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] | None = None
    try:
        for count, values in enumerate(reader):
            values = [value.strip() for value in values]
            if columns is None:
                columns = _columns(path, values)
            elif count > MAX_ROWS:
                raise BadInput(f"{path}: more than {MAX_ROWS} rows; split it")
            elif any(values):
                if len(values) != len(columns):
                    raise BadInput(
                        f"{path}: line {reader.line_num}: {len(values)} fields under "
                        f"{len(columns)} column names"
                    )
                yield reader.line_num, dict(zip(columns, values, strict=True))
    except csv.Error as error:
        raise BadInput(f"{path}: line {reader.line_num}: {one_line(str(error))}") from error


def _columns(path: Path, names: list[str]) -> list[str]:
    for name in REQUIRED:
        if name not in names:
            raise BadInput(
                f"{path}: line 1: there is no column {name!r}",
                "The first line names the columns: number,consent,timezone (timezone may be left "
                "out).",
            )
    for name in names:
        if name not in (*REQUIRED, *OPTIONAL):
            known = ", ".join((*REQUIRED, *OPTIONAL))
            raise BadInput(
                f"{path}: line 1: no column may be named {one_line(name)[:64]!r}",
                f"There are: {known}.",
            )
    if len(set(names)) != len(names):
        raise BadInput(f"{path}: line 1: a column is named twice")
    return names


def _row(line: int, fields: dict[str, str], default_zone: str | None) -> _Row:
    if not is_e164(fields["number"]):
        raise _Fault("number: must be in E.164 form such as +14155550100")
    consent = _CONSENT.get(fields["consent"].lower())
    if consent is None:
        raise _Fault("consent: must be yes or no; call only who said yes")
    zone = fields.get("timezone") or default_zone
    if zone is None:
        raise _Fault("timezone: neither the row, the rules nor the persona names one")
    try:
        time_zone(zone)
    except ValueError as error:
        raise _Fault(f"timezone: {error}") from None
    return _Row(line, fields["number"], consent, zone)


def _merged(first: _Row, again: _Row) -> _Row:
    if first.zone != again.zone:
        raise _Fault(f"the number of line {first.line} with another timezone")
    return _Row(first.line, first.number, first.consent and again.consent, first.zone)
