"""The models behind both wirings: those of this machine, or with a GPU's timings simulated."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from bench.call.language_model import MODEL
from bench.children import await_port, child, free_port


@dataclass(frozen=True)
class Engines:
    """What listens, thinks and speaks."""

    name: str
    """As tables and the JSON name it."""
    description: str
    llm_ttft_s: float = 0.0
    """Wait for the language model's first token, seconds."""
    llm_interval_s: float = 0.0
    """Wait for each further one."""
    tts_first_audio_s: float | None = None
    """Simulated wait for a segment's first audio; None: the voice takes its own time."""
    tts_speed: float = 8.0
    """Simulated pace of the voice, times real time."""

    @property
    def simulated(self) -> bool:
        """Whether any timing is not that of what runs here."""
        return self.tts_first_audio_s is not None or self.llm_ttft_s > 0


REAL: Final = Engines(
    "here",
    "speech to text and voice of this machine, as fast as they are; a scripted language model "
    "that answers at once, so that there is nothing to gain by asking it early",
)
SIMULATED: Final = Engines(
    "simulated",
    "SIMULATED timings of a GPU for the language model (40 ms to the first token, 5 ms for each "
    "further one) and the voice (60 ms to the first audio of a segment, then 8 times real time); "
    "speech to text is the real one of this machine's CPU",
    llm_ttft_s=0.04,
    llm_interval_s=0.005,
    tts_first_audio_s=0.06,
)
"""Source: DESIGN section 4 and research/voice-to-voice-baseline.md, which simulated the same."""


@contextmanager
def running(engines: Engines) -> Iterator[dict[str, str]]:
    """Start what `parley run` would not start by itself.

    Yields:
        Settings of `parley run` that say where it is.

    Raises:
        PeerUnavailable: a process did not start.
    """
    with ExitStack() as processes:
        llm_port = free_port()
        llm = [
            *(sys.executable, "-m", "bench.call.language_model", "--port", str(llm_port)),
            *("--ttft", str(engines.llm_ttft_s), "--token-interval", str(engines.llm_interval_s)),
        ]
        await_port(llm_port, processes.enter_context(child(llm)), "the bench's language model")
        settings = {
            "PARLEY_LLM_URL": f"http://127.0.0.1:{llm_port}/v1",
            "PARLEY_LLM_MODEL": MODEL,
        }
        if engines.tts_first_audio_s is not None:
            port = free_port()
            speech = [
                *(sys.executable, "-m", "bench.call.paced_speech", "--port", str(port)),
                *("--first-audio", str(engines.tts_first_audio_s)),
                *("--speed", str(engines.tts_speed)),
            ]
            await_port(port, processes.enter_context(child(speech)), "the paced speech server")
            settings["PARLEY_SPEECH_URL"] = f"http://127.0.0.1:{port}"
        yield settings
