"""The tiny Llama that knows a dialogue by heart, served by vLLM.

The one that knows the built-in dialogue lies beside it, 0.7 MB. After a change of the dialogue or
of the script that trains on it, `python -m tests.tiny_dialogue` trains it anew, in five minutes.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from livekit.agents import llm

from tests.server_process import Server, server_process
from tests.vllm_environment import PYTHON

_ROOT = Path(__file__).parents[1]
FOLDER = _ROOT / "tests" / "fixtures" / "tiny_dialogue"
DIALOGUE = FOLDER / "dialogue.json"
TRAINED = FOLDER / "model"
MADE_OF = TRAINED / "made_of.txt"
"""Says what it was trained with, as `made_of` does."""
_ARTIFACTS = _ROOT / "tests" / "artifacts"

BLOCK_TOKENS = 32
"""Tokens of one block of the cache on a CPU."""
MODEL = "tiny-dialogue"
API_KEY = "a key of some length"
"""For tests that give the server a key."""
_BUILD_TIMEOUT_S = 900.0
_START_TIMEOUT_S = 600.0
"""vLLM on a CPU needs 40 to 80 s, and twice that on a busy one."""
_STOP_TIMEOUT_S = 40.0
_READY = "language model ready"


def llama(dialogue: Path = DIALOGUE) -> Path:
    """The directory of the model; trained when it is not there yet (five minutes).

    Args:
        dialogue: what it has to know, in the form of dialogue.json.
    """
    made = made_of(dialogue)
    if MADE_OF.is_file() and MADE_OF.read_text(encoding="utf-8").strip() == made:
        return TRAINED
    folder = _ARTIFACTS / f"tiny-dialogue-{made[:16]}"
    if not (folder / "tokenizer.json").is_file():
        command = [PYTHON, FOLDER / "make_llama.py", folder, "--dialogue", dialogue]
        subprocess.run(command, check=True, timeout=_BUILD_TIMEOUT_S)
    return folder


def made_of(dialogue: Path = DIALOGUE) -> str:
    """SHA-256 of all that the model depends on, in hexadecimal."""
    files = (dialogue, FOLDER / "make_llama.py", FOLDER / "template.jinja")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def dialogue() -> dict[str, Any]:
    """The built-in dialogue: `system`, `tools`, `call_lines`, `exchanges`."""
    read: dict[str, Any] = json.loads(DIALOGUE.read_text(encoding="utf-8"))
    return read


def tools() -> list[llm.Tool]:
    """The dialogue's tools as the framework's, which do nothing."""

    async def nothing(raw_arguments: dict[str, object]) -> str:
        return "{}"

    return [llm.function_tool(nothing, raw_schema=tool["function"]) for tool in dialogue()["tools"]]


@contextmanager
def language_server(model: Path | None = None, **settings: str) -> Iterator[Server]:
    """Run `python -m language_server` with a model in vLLM and yield once it is ready.

    Args:
        model: its directory; None: the tiny one.
        settings: by their lower-case name without `PARLEY_LANGUAGE_`, for example
            `max_sequences="1"`.
    """
    wanted = {
        "engine": "vllm",
        "model": str(model or llama()),
        "model_name": MODEL,
        "python": str(PYTHON),
        "port": "0",
        **settings,
    }
    with server_process(
        [sys.executable, "-m", "language_server"],
        {f"PARLEY_LANGUAGE_{name.upper()}": value for name, value in wanted.items()},
        settled=lambda line: _READY in line,
        times=int(settings.get("replicas", "1")),
        start_timeout_s=_START_TIMEOUT_S,
        stop_timeout_s=_STOP_TIMEOUT_S,
    ) as server:
        yield server


if __name__ == "__main__":
    shutil.copytree(llama(), TRAINED, dirs_exist_ok=True)
    MADE_OF.write_text(f"{made_of()}\n", encoding="utf-8")
