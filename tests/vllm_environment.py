"""vLLM's environment, which not every machine has."""

import os
from pathlib import Path

_ROOT = Path(__file__).parents[1]

PYTHON = Path(os.environ.get("PARLEY_TEST_VLLM", _ROOT / ".venv-vllm")) / "bin" / "python"
"""Its interpreter."""
MISSING = (
    f"vLLM's environment is not installed ({PYTHON.parents[1]}): `make .venv-vllm/.installed`,"
    " or name one with PARLEY_TEST_VLLM"
)
