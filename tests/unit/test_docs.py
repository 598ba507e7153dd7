"""The docs say what the code does."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_settings_tables_are_fresh() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "settings_table.py"))
    page = (ROOT / "docs" / "operations.md").read_text()
    assert generator["replaced"](page) == page, "run `make fix`"


def test_links_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
