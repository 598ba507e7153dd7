"""Write the settings tables of docs/operations.md from the settings classes themselves.

`python docs/settings_table.py` rewrites the part between the markers; `make fix` runs it, and a
unit test fails when the page is behind the code.
"""

from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from language_server.settings import LanguageServerSettings
from speech_server.settings import SpeechServerSettings
from voice_agent.settings import AgentSettings, TokenServerSettings
from voice_agent.stack.settings import RunSettings

PAGE = Path(__file__).parent / "operations.md"
BEGIN = "<!-- settings: begin (written by docs/settings_table.py) -->"
END = "<!-- settings: end -->"

PROCESSES: tuple[tuple[str, type[BaseSettings]], ...] = (
    ("Speech server", SpeechServerSettings),
    ("Language server", LanguageServerSettings),
    ("Agent worker", AgentSettings),
    ("Token server", TokenServerSettings),
    ("`parley run`", RunSettings),
)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, SecretStr):
        return "(secret)"
    if value in (None, "", ()):
        return ""
    if isinstance(value, tuple):
        value = ",".join(str(part) for part in value)
    return f"`{value}`"


def _row(name: str, field: FieldInfo) -> str:
    description = " ".join((field.description or "").split()).replace("|", "\\|")
    return f"| `PARLEY_{name.upper()}` | {_default(field)} | {description} |"


def render() -> str:
    """The tables, one per process, in the order of the classes' fields."""
    parts = []
    for title, settings in PROCESSES:
        rows = [_row(name, field) for name, field in settings.model_fields.items()]
        parts.append(
            "\n".join(
                [f"### {title}\n", "| variable | default | meaning |", "|---|---|---|", *rows]
            )
        )
    return "\n\n".join(parts)


def replaced(page: str) -> str:
    """The page with fresh tables between the markers."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{render()}\n\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text()))
