"""Checks a document against a JSON schema (draft 7), as far as the Compose Specification needs it.

A keyword that is not understood here is an error, so that nothing passes because nobody looked.
"""

import re
from collections.abc import Iterator
from typing import Any

_ANNOTATIONS = {
    "$schema", "$id", "title", "description", "deprecated", "default", "examples", "definitions",
    # Durations and the like, which the specification leaves to the implementation.
    "format",
}  # fmt: skip
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def faults(document: Any, schema: dict[str, Any]) -> list[str]:
    """Each place where the document is not what the schema says, with its path."""
    return list(_Checker(schema).check(document, schema, ""))


class _Checker:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root

    def check(self, value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
        for keyword, wanted in schema.items():
            if keyword in _ANNOTATIONS:
                continue
            rule = getattr(self, f"_{keyword.lstrip('$')}", None)
            if rule is None:
                raise NotImplementedError(f"keyword {keyword} of the schema")
            yield from rule(value, wanted, schema, path)

    def _ref(self, value: Any, name: str, schema: Any, path: str) -> Iterator[str]:
        target = self._root
        for part in name.removeprefix("#/").split("/"):
            target = target[part]
        yield from self.check(value, target, path)

    def _type(self, value: Any, names: Any, schema: Any, path: str) -> Iterator[str]:
        names = names if isinstance(names, list) else [names]
        if not any(_is(value, name) for name in names):
            yield f"{path}: {type(value).__name__} in place of {' or '.join(names)}"

    def _required(self, value: Any, names: list[str], schema: Any, path: str) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (f"{path}: lacks {name}" for name in names if name not in value)

    def _properties(self, value: Any, known: Any, schema: Any, path: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name in known.keys() & value.keys():
                yield from self.check(value[name], known[name], f"{path}/{name}")

    def _patternProperties(
        self, value: Any, patterns: Any, schema: Any, path: str
    ) -> Iterator[str]:
        if isinstance(value, dict):
            for pattern, wanted in patterns.items():
                for name in filter(re.compile(pattern).search, value):
                    yield from self.check(value[name], wanted, f"{path}/{name}")

    def _additionalProperties(
        self, value: Any, wanted: Any, schema: Any, path: str
    ) -> Iterator[str]:
        if not isinstance(value, dict) or wanted is True:
            return
        patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
        for name in value.keys() - schema.get("properties", {}).keys():
            if any(pattern.search(name) for pattern in patterns):
                continue
            if wanted is False:
                yield f"{path}: has no {name}"
            else:
                yield from self.check(value[name], wanted, f"{path}/{name}")

    def _items(self, value: Any, wanted: Any, schema: Any, path: str) -> Iterator[str]:
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from self.check(item, wanted, f"{path}/{number}")

    def _oneOf(self, value: Any, choices: Any, schema: Any, path: str) -> Iterator[str]:
        found = [list(self.check(value, choice, path)) for choice in choices]
        if sum(not faults for faults in found) != 1:
            yield from min(found, key=len) or [f"{path}: fits more than one of its forms"]

    def _enum(self, value: Any, known: list[Any], schema: Any, path: str) -> Iterator[str]:
        if value not in known:
            yield f"{path}: {value!r} is none of {known}"

    def _const(self, value: Any, known: Any, schema: Any, path: str) -> Iterator[str]:
        if value != known:
            yield f"{path}: {value!r} is not {known!r}"

    def _pattern(self, value: Any, pattern: str, schema: Any, path: str) -> Iterator[str]:
        if isinstance(value, str) and not re.search(pattern, value):
            yield f"{path}: {value!r} does not match {pattern}"

    def _uniqueItems(self, value: Any, wanted: bool, schema: Any, path: str) -> Iterator[str]:
        if wanted and isinstance(value, list) and len({str(item) for item in value}) < len(value):
            yield f"{path}: holds an item twice"

    def _minimum(self, value: Any, least: float, schema: Any, path: str) -> Iterator[str]:
        if isinstance(value, int | float) and value < least:
            yield f"{path}: {value} is less than {least}"

    def _maximum(self, value: Any, most: float, schema: Any, path: str) -> Iterator[str]:
        if isinstance(value, int | float) and value > most:
            yield f"{path}: {value} is more than {most}"


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])
