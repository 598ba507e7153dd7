"""Types of tool arguments: bounded, checked, and explained to a model that got them wrong."""

import re
import unicodedata
from datetime import date, time
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

MAX_NAME_LENGTH = 80
MAX_REASON_LENGTH = 200

_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::00)?")


def _in_names(character: str) -> bool:
    """Letters and marks of any script, and what joins them; no digits, symbols or controls."""
    return unicodedata.category(character)[0] in "LM" or character in " .'-\u2019"


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be the caller's name as text")
    name = " ".join(value.split())
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(f"must have at most {MAX_NAME_LENGTH} characters")
    if sum(map(str.isalpha, name)) < 2 or not all(map(_in_names, name)):
        raise ValueError("must be a person's name: letters only; ask the caller for it")
    return name


def _day(value: Any) -> date:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value.strip()):
        raise ValueError("must be a date like 2026-11-24")
    try:
        return date.fromisoformat(value.strip())
    except ValueError:
        raise ValueError("there is no such date in the calendar") from None


def _time_of_day(value: Any) -> time:
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        raise ValueError("must be a 24-hour time like 15:30")
    return time(int(match[1]), int(match[2]))


def _reason(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("must be text")
    reason = " ".join(value.split())
    if len(reason) > MAX_REASON_LENGTH:
        raise ValueError(f"must have at most {MAX_REASON_LENGTH} characters; summarise it")
    if not reason.isprintable():
        raise ValueError("must be plain text")
    return reason


def _customer_number(value: Any) -> str:
    digits = re.sub(r"[\s.-]", "", str(value)) if isinstance(value, str | int) else ""
    if not re.fullmatch(r"[0-9]{6}", digits):
        raise ValueError("must be six digits; ask the caller for them")
    return digits


def _date_of_birth(value: Any) -> date:
    born = _day(value)
    if not 1900 <= born.year <= date.today().year:
        raise ValueError("is no date of birth; ask the caller for it, with the year")
    return born


def _whole_number(value: Any) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,4}\s*", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")
    return value


def _absent(value: Any) -> Any:
    """Models send "" or "null" for what they leave out."""
    return (
        None if isinstance(value, str) and value.strip().lower() in {"", "null", "none"} else value
    )


PersonName = Annotated[
    str,
    BeforeValidator(_name),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": MAX_NAME_LENGTH,
            "description": "First and last name of the patient, as the caller said it",
        }
    ),
]
"""2 or more letters; whitespace folded."""

Day = Annotated[
    date,
    BeforeValidator(_day),
    WithJsonSchema({"type": "string", "format": "date", "description": "YYYY-MM-DD"}),
]

OptionalDay = Annotated[
    date | None,
    BeforeValidator(lambda value: None if _absent(value) is None else _day(value)),
    WithJsonSchema(
        {"type": "string", "format": "date", "description": "YYYY-MM-DD; leave out for the week"}
    ),
]

TimeOfDay = Annotated[
    time,
    BeforeValidator(_time_of_day),
    WithJsonSchema({"type": "string", "description": "24-hour HH:MM, for example 15:30"}),
]

Reason = Annotated[
    str,
    BeforeValidator(_reason),
    WithJsonSchema({"type": "string", "maxLength": MAX_REASON_LENGTH}),
]

AppointmentId = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{8}$",
        description="appointment_id from find_appointment or book_appointment",
    ),
]

CustomerNumber = Annotated[
    str,
    BeforeValidator(_customer_number),
    WithJsonSchema({"type": "string", "description": "Six digits, as the caller said them"}),
]
"""Six ASCII digits; blanks, dots and hyphens between them are dropped."""

DateOfBirth = Annotated[
    date,
    BeforeValidator(_date_of_birth),
    WithJsonSchema({"type": "string", "format": "date", "description": "YYYY-MM-DD"}),
]

TransactionId = Annotated[
    str, Field(pattern=r"^[a-z0-9]{1,32}$", description="transaction_id from explain_balance")
]

WholeNumber = Annotated[int, BeforeValidator(_whole_number), WithJsonSchema({"type": "integer"})]
"""Digits as text are taken for the number; true and 1.5 are not."""

Absent = BeforeValidator(_absent)
"""For optional enumerations: "" and "null" mean that the argument was left out."""
