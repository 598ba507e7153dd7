"""Write the tables of docs/benchmarks.md from the results in bench/results.

`python docs/benchmark_tables.py` rewrites the parts between the markers, `--check` only says
whether they are behind; `make fix` runs it, and a unit test fails when they are.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark_results import RENDERERS, Result  # beside this file, which is run as a script

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "bench" / "results"


def _conditions(result: Result) -> str:
    """What the figures were taken on, as far as the file says."""
    machine = result.get("hardware") or result.get("machine")
    if machine is None:
        return "Machine and versions are not in the file."
    parts = [f"{machine['cpu']}, {machine['cores']} cores", machine.get("gpu") or "no GPU"]
    before = result.get("conditions", {}).get("load_average_before")
    when, load = ("before", before) if before else ("at the end", machine["load_average"])
    parts.append(f"load average {when}: {load[0]:.1f}")
    parts += [f"{name} {version}" for name, version in result.get("versions", {}).items()]
    day = result.get("made_at", "")[:10]
    return f"{f'{day}: ' if day else ''}{'; '.join(parts)}."


def _notes(result: Result) -> list[str]:
    notes = [f"- Note: {note}" for note in result.get("notes", ())]
    return ["\n".join(notes)] if notes else []


def render(name: str, results: Path = RESULTS) -> str:
    """The tables of one result, with what they were taken on.

    Raises:
        ValueError: the file is no result of this bench.
    """
    file = results / f"{name}.json"
    if not file.exists():
        return f"Not measured yet: there is no `bench/results/{name}.json`."
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
        blocks = [_conditions(result), *RENDERERS[name](result), *_notes(result)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{file} is not a result of this bench: {error!r}") from error
    return "\n\n".join(blocks)


def replaced(page: str, results: Path = RESULTS) -> str:
    """The page with fresh tables between the markers.

    Raises:
        ValueError: a result has no markers in the page, or its file cannot be used.
    """
    for name in RENDERERS:
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        head, found, rest = page.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"the page lacks {begin} … {end}")
        page = f"{head}{begin}\n\n{render(name, results)}\n\n{end}{tail}"
    return page


def main(arguments: Sequence[str]) -> None:
    """Rewrite the page, or with `--check` only compare; ends with 1 where it is behind."""
    old = PAGE.read_text(encoding="utf-8")
    try:
        new = replaced(old)
    except ValueError as error:
        sys.exit(str(error))
    if arguments != ["--check"]:
        PAGE.write_text(new, encoding="utf-8")
    elif new != old:
        sys.exit("docs/benchmarks.md is behind bench/results: run `make fix`")


if __name__ == "__main__":
    main(sys.argv[1:])
