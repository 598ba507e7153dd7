"""The files that docs/phone/commands.md shows can be used as they stand there."""

import textwrap
from pathlib import Path

from voice_agent.personas import load_persona
from voice_agent.phone.campaign.rules import read_rules
from voice_agent.phone.opening import opening_words
from voice_agent.phone.trunk_reading import read_trunk_file

PAGE = Path(__file__).parents[4] / "docs" / "phone" / "commands.md"


def example(first_line: str, folder: Path) -> Path:
    """The indented block that begins with a line, as a file."""
    _, _, rest = PAGE.read_text().partition(f"\n\n    {first_line}")
    block, _, _ = f"    {first_line}{rest}".partition("\n\n")
    path = folder / "example.yaml"
    path.write_text(textwrap.dedent(block))
    return path


def test_trunks(tmp_path: Path) -> None:
    trunks = read_trunk_file(example("inbound:", tmp_path), None)
    assert set(trunks.rules) == {"front_desk", "bank"}
    assert trunks.outbound["carrier"].media_encryption == "require"


def test_campaign_rules(tmp_path: Path) -> None:
    rules = read_rules(example("concurrency:", tmp_path))
    assert rules.hours.tuesday is not None
    assert "automated assistant" in opening_words(load_persona("front_desk"), rules.opening)
