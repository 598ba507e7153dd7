"""Our speech server as a process of its own, with the engine that is measured."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bench.options import BadOption
from bench.tts.snac_work import TINY_VOICE
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.tiny_orpheus import llama
from tests.vllm_environment import MISSING, PYTHON

EngineName = Literal["auto", "flite", "espeak", "orpheus"]

_NO_LIMIT: Final = "4096"
"""Replies to admit: the ramp looks for the limit that admission keeps away from."""
_SEQUENCES: Final = "512"
"""The same for Orpheus, where each is a sequence of vLLM's."""
_TINY_SEQUENCES: Final = "64"
_TINY_MEMORY_SHARE: Final = "0.1"
_ORPHEUS_START_S: Final = 600.0
"""A large model is read, compiled for and captured."""


@dataclass(frozen=True)
class Voice:
    """What our server speaks with."""

    engine: EngineName
    model: Path | None
    """Directory of an Orpheus model; None: the tests' tiny one, or an engine without a model."""

    @property
    def is_tiny(self) -> bool:
        """Whether it is the tests' tiny Orpheus, which knows eight sentences."""
        return self.engine == "orpheus" and self.model is None


def check(voice: Voice) -> None:
    """See that the voice can be had here.

    Raises:
        BadOption: it cannot; the message says what to do.
    """
    if voice.engine != "orpheus":
        if voice.model is not None:
            raise BadOption(f"--model {voice.model}: --engine {voice.engine} takes no model")
        return
    if not PYTHON.is_file():
        raise BadOption(f"--engine orpheus: {MISSING}")
    if voice.model is not None and not (voice.model / "config.json").is_file():
        raise BadOption(f"--model {voice.model}: no config.json in it")


@contextmanager
def parley(voice: Voice, settings: dict[str, str]) -> Iterator[SpeechServer]:
    """Run our speech server.

    Args:
        voice: what it speaks with; the tiny Orpheus is trained first where it is not there yet.
        settings: further settings of the server, by their lower-case name without prefix.

    Raises:
        RuntimeError: it did not start, or has no engine.
    """
    asked = {
        "tts_engine": voice.engine,
        "tts_capacity_streams": _NO_LIMIT,
        # Connections are opened ahead, and most of them are used at the last step only.
        "tts_idle_timeout_s": _NO_LIMIT,
    }
    start: dict[str, object] = {}
    if voice.engine == "orpheus":
        asked |= {"tts_model": str(voice.model or llama()), "tts_capacity_streams": _SEQUENCES}
        start = {"python": str(PYTHON), "start_timeout_s": _ORPHEUS_START_S}
    if voice.is_tiny:
        asked |= {
            "tts_snac": str(TINY_VOICE / "snac"),
            "tts_capacity_streams": _TINY_SEQUENCES,
            "tts_memory_share": _TINY_MEMORY_SHARE,
        }
    with speech_server_process(("tts",), **start, **(asked | settings)) as server:  # type: ignore[arg-type]
        if any("role failed to start" in line for line in server.log):
            raise RuntimeError("the speech server has no engine:\n" + "".join(server.log[-5:]))
        yield server
