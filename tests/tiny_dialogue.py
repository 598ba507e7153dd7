"""The tiny Llama that knows a dialogue by heart: trained where tests need it, served by vLLM."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livekit.agents import llm

_ROOT = Path(__file__).parents[1]
FOLDER = _ROOT / "tests" / "fixtures" / "tiny_dialogue"
DIALOGUE = FOLDER / "dialogue.json"
_ARTIFACTS = _ROOT / "tests" / "artifacts"

PYTHON = Path(os.environ.get("PARLEY_TEST_VLLM", _ROOT / ".venv-vllm")) / "bin" / "python"
"""The interpreter of vLLM's environment."""
MISSING = (
    f"vLLM's environment is not installed ({PYTHON.parents[1]}): `make .venv-vllm/.installed`,"
    " or name one with PARLEY_TEST_VLLM"
)
BLOCK_TOKENS = 32
"""Tokens of one block of the cache on a CPU."""
MODEL = "tiny-dialogue"
_BUILD_TIMEOUT_S = 900.0
_START_TIMEOUT_S = 600.0
"""vLLM on a CPU needs 40 to 80 s, and twice that on a busy one."""
_STOP_TIMEOUT_S = 40.0
_LISTENING = re.compile(r"running on http://127\.0\.0\.1:(\d+)")
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


@dataclass
class LanguageServer:
    """A running server."""

    process: subprocess.Popen[str]
    port: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ask it to end as an operator would, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_STOP_TIMEOUT_S)


class _LogReader(threading.Thread):
    """Drains the server's log and tells when every copy of the model is ready."""

    def __init__(self, server: LanguageServer, replicas: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._missing = replicas
        self.started = threading.Event()

    def run(self) -> None:
        assert self._server.process.stderr is not None
        for line in self._server.process.stderr:
            self._server.log.append(line)
            if found := _LISTENING.search(line):
                self._server.port = int(found[1])
            self._missing -= _READY in line
            if self._server.port and self._missing <= 0:
                self.started.set()
        self.started.set()


@contextmanager
def language_server(model: Path | None = None, **settings: str) -> Iterator[LanguageServer]:
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
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    environment |= {f"PARLEY_LANGUAGE_{name.upper()}": value for name, value in wanted.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "language_server"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = LanguageServer(process)
    reader = _LogReader(server, int(settings.get("replicas", "1")))
    reader.start()
    try:
        if not reader.started.wait(_START_TIMEOUT_S) or process.poll() is not None:
            raise RuntimeError("the language server did not start:\n" + "".join(server.log[-60:]))
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join()
        assert process.stderr is not None
        process.stderr.close()
