"""The tiny Orpheus: trained where tests need it, spoken by a real server in vLLM's environment."""

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.speech_server_process import SpeechServer, speech_server_process
from tests.tiny_voice import FOLDER, SNAC_FOLDER
from tests.vllm_environment import PYTHON

_ROOT = Path(__file__).parents[1]
_SCRIPT = FOLDER / "make_llama.py"
_ARTIFACTS = _ROOT / "tests" / "artifacts"

LIKELIEST = {"tts_temperature": "0", "tts_repetition_penalty": "1"}
"""Settings with which the tiny voice keeps up with speech on a CPU: it knows its sentences by heart
and needs no chance to say them."""
_BUILD_TIMEOUT_S = 400.0
_START_TIMEOUT_S = 300.0
"""vLLM on a CPU needs 40 to 80 s."""


def llama() -> Path:
    """The directory of the tiny language model; trained when it is not there yet (a minute)."""
    made_of = hashlib.sha256(_SCRIPT.read_bytes() + (FOLDER / "codes.json").read_bytes())
    folder = _ARTIFACTS / f"tiny-llama-{made_of.hexdigest()[:16]}"
    if not (folder / "tokenizer.json").is_file():
        subprocess.run([PYTHON, _SCRIPT, folder], check=True, timeout=_BUILD_TIMEOUT_S)
    return folder


@contextmanager
def tiny_orpheus_server(**settings: str) -> Iterator[SpeechServer]:
    """Serve text to speech with the tiny voice."""
    wanted = {
        "tts_engine": "orpheus",
        "tts_model": str(llama()),
        "tts_snac": str(SNAC_FOLDER),
        "tts_memory_share": "0.1",
        **settings,
    }
    with speech_server_process(
        ("tts",), python=str(PYTHON), start_timeout_s=_START_TIMEOUT_S, **wanted
    ) as server:
        yield server
