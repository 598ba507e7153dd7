"""The tools that a request offers, and calls to them whose arguments fit their schemas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DESK_TOOLS = frozenset(
    {"opening_hours", "find_free_slots", "book_appointment", "find_appointment",
     "move_appointment", "cancel_appointment", "transfer_to_human"}
)  # fmt: skip
"""Tools of the front desk. `end_call` is not among them: every persona may have it."""

BANK_TOOLS = frozenset(
    {"verify_identity", "account_balance", "explain_balance", "report_transaction"}
)
"""Tools of the bank's support line."""

_TRANSFER = "transfer_to_"
_PERSON = "transfer_to_human"


@dataclass(frozen=True)
class PlannedCall:
    """A tool call to put into the answer."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Toolbox:
    """What may be called in this answer."""

    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tool name to the JSON schema of its arguments."""
    callable_names: frozenset[str] = frozenset()
    """Tools that may be called now; fewer than offered when `tool_choice` says so."""
    parallel: bool = True
    """Whether one answer may hold several calls."""
    must_call: bool = False
    """Whether the answer has to be a call."""

    @property
    def is_front_desk(self) -> bool:
        """Whether this is the persona that the script was written for."""
        return bool(DESK_TOOLS & self.schemas.keys())

    @property
    def is_bank(self) -> bool:
        """Whether this is the bank's support line, or the reception before it."""
        own_desk_tools = (DESK_TOOLS - {_PERSON}) & self.schemas.keys()
        return bool(BANK_TOOLS & self.schemas.keys() or (self.colleague and not own_desk_tools))

    @property
    def colleague(self) -> str | None:
        """The tool that hands the caller over to the first other agent; None when there is none."""
        for name in self.schemas:
            if name.startswith(_TRANSFER) and name != _PERSON:
                return name
        return None

    def unrestricted(self) -> "Toolbox":
        """The same tools, all of them free to use."""
        return Toolbox(self.schemas, frozenset(self.schemas))

    def offers(self, name: str) -> bool:
        """Whether the tool may be called in this answer."""
        return name in self.callable_names

    def call(self, tool: str, **arguments: Any) -> PlannedCall | None:
        """A call that the tool's schema accepts, or None when there can be none.

        Arguments that the tool does not know are left out; a required one that may be null is
        null (strict schemas require every property).
        """
        if tool not in self.callable_names or tool not in self.schemas:
            return None
        schema = self.schemas[tool]
        properties = _mapping(schema.get("properties"))
        fitted = {
            key: value
            for key, value in arguments.items()
            if value is not None and (key in properties or "properties" not in schema)
        }
        for key in _strings(schema.get("required")):
            if key in fitted:
                continue
            if not _accepts(_mapping(properties.get(key)), None):
                return None
            fitted[key] = None
        if not all(_accepts(_mapping(properties.get(k)), v) for k, v in fitted.items()):
            return None
        return PlannedCall(tool, fitted)


def _accepts(schema: Mapping[str, Any], value: object) -> bool:
    """Whether a string or null fits the part of JSON Schema that tools use."""
    choices = schema.get("anyOf")
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return any(_accepts(_mapping(choice), value) for choice in choices)
    enum = schema.get("enum")
    if isinstance(enum, list) and value not in enum:
        return False
    longest = schema.get("maxLength")
    if isinstance(value, str) and isinstance(longest, int) and len(value) > longest:
        return False
    kinds = schema.get("type")
    if kinds is None:
        return value is not None or enum is not None
    allowed = [kinds] if isinstance(kinds, str) else _strings(kinds)
    return ("null" if value is None else "string") in allowed


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
