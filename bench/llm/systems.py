"""The server that is measured: ours with vLLM on this machine, or any by its URL."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.options import BadOption
from tests.tiny_dialogue import BLOCK_TOKENS, MODEL, language_server
from tests.vllm_environment import MISSING, PYTHON

_MAKE: Final = Path(__file__).with_name("random_llama.py")
_MAKE_TIMEOUT_S: Final = 300.0
CACHE_PROMPTS: Final = 5
"""Prompts that the cache of our server has room for, so that others can push one out."""
_CONTEXT_TOKENS: Final = 8192


@dataclass(frozen=True)
class System:
    """Where to ask."""

    url: str
    """Base URL with `/v1`."""
    model: str | None
    """None: the first that it lists."""
    api_key: str
    description: str
    cache_tokens: int | None
    """Tokens that its cache holds, where we know."""

    @property
    def is_ours(self) -> bool:
        """Whether we have started it."""
        return self.cache_tokens is not None


def check(url: str | None) -> None:
    """See before a long run that it can be made.

    Raises:
        BadOption: there is nothing to measure.
    """
    if url is None and not PYTHON.is_file():
        raise BadOption(f"{MISSING}; or measure a server that runs: --url URL")
    if url is not None and not url.startswith(("http://", "https://")):
        raise BadOption(f"--url {url}: give a base URL like http://127.0.0.1:8000/v1")


@contextmanager
def ours(model: Path | None, prompt_tokens: int, settings: dict[str, str]) -> Iterator[System]:
    """Our server with vLLM on this machine, its cache as small as the measurement wants it.

    Args:
        model: directory of the model; None: one with random weights.
        prompt_tokens: length of the prompts that will be asked.
        settings: further settings, without `language_`.

    Raises:
        RuntimeError: it did not start.
    """
    # A whole conversation has to fit, whatever the prompts.
    tokens = max(CACHE_PROMPTS * prompt_tokens, _CONTEXT_TOKENS + BLOCK_TOKENS)
    wanted = {"cache_blocks": str(tokens // BLOCK_TOKENS), **settings}
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        if model is None:
            _make(Path(folder))
        with language_server(model or Path(folder), **wanted) as server:
            yield System(
                f"{server.url}/v1",
                MODEL,
                "none",
                f"our server, vLLM, {model.name if model else 'random weights'}",
                int(wanted["cache_blocks"]) * BLOCK_TOKENS,
            )


def _make(folder: Path) -> None:
    try:
        subprocess.run(
            [PYTHON, _MAKE, folder],
            check=True,
            capture_output=True,
            text=True,
            timeout=_MAKE_TIMEOUT_S,
        )
    except subprocess.SubprocessError as error:
        why = getattr(error, "stderr", None) or str(error)
        raise RuntimeError(f"the model cannot be made: {str(why).strip()[-500:]}") from error
