"""The tiny Llama that knows a dialogue by heart: trained where tests need it, served by vLLM."""

import hashlib
import json
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
_ARTIFACTS = _ROOT / "tests" / "artifacts"

BLOCK_TOKENS = 32
"""Tokens of one block of the cache on a CPU."""
MODEL = "tiny-dialogue"
_BUILD_TIMEOUT_S = 900.0
_START_TIMEOUT_S = 600.0
"""vLLM on a CPU needs 40 to 80 s, and twice that on a busy one."""
_STOP_TIMEOUT_S = 40.0
_READY = "language model ready"


def llama(dialogue: Path = DIALOGUE) -> Path:
    """The directory of the model; trained when it is not there yet (a minute or two).

    Args:
        dialogue: what it has to know, in the form of dialogue.json.
    """
    made_of = hashlib.sha256(dialogue.read_bytes())
    for file in ("make_llama.py", "template.jinja"):
        made_of.update((FOLDER / file).read_bytes())
    folder = _ARTIFACTS / f"tiny-dialogue-{made_of.hexdigest()[:16]}"
    if not (folder / "tokenizer.json").is_file():
        command = [PYTHON, FOLDER / "make_llama.py", folder, "--dialogue", dialogue]
        subprocess.run(command, check=True, timeout=_BUILD_TIMEOUT_S)
    return folder


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
