"""The models behind both wirings: those of this machine, or simulated ones with a GPU's timings."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from bench.call.language_model import MODEL
from bench.children import await_port, await_ready, child, free_port
from voice_agent.settings import home_dir


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
    speech: "SimulatedSpeech | None" = None
    """What listens and speaks; None: the real engines of this machine, in the time they need."""


@dataclass(frozen=True)
class SimulatedSpeech:
    """How quick simulated speech engines are."""

    stt_call_s: float
    """Time of a call of the speech-to-text model, seconds."""
    tts_first_audio_s: float
    """From a segment's text to its first audio, seconds."""
    stt_preflight_s: float
    """Silence after which words are read ahead, as the GPU profiles have it, seconds."""
    tts_speed: float
    """Audio made in the time that it lasts."""


REAL: Final = Engines(
    "here",
    "speech to text and voice of this machine, as fast as they are; a scripted language model "
    "that answers at once, so that there is nothing to gain by asking it early",
)
SIMULATED: Final = Engines(
    "simulated",
    "SIMULATED engines of a GPU. Speech to text: 30 ms a call; it knows the recorded set by its "
    "sound and makes no mistakes, which flatters every wiring. Language model: 40 ms to the first "
    "token, 5 ms for each further one. Voice: 60 ms from a segment's text to its first audio, then "
    "8 times real time. Server, wires, voice activity and batching are the real ones",
    llm_ttft_s=0.04,
    llm_interval_s=0.005,
    speech=SimulatedSpeech(
        stt_call_s=0.03, stt_preflight_s=0.02, tts_first_audio_s=0.06, tts_speed=8.0
    ),
)
"""Source: research/voice-to-voice-baseline.md, which simulated the same voice and language model
and puts speech to text at 20 to 30 ms on a GPU. Published for 10 s of audio are 50 ms (DESIGN
section 6); Whisper's encoder needs 5 ms on an H100, 25 ms on an A10 (computed in
research/peers-and-performance.md)."""


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
        if engines.speech is not None:
            port = free_port()
            server = _speech_server(engines.speech, port)
            url = settings["PARLEY_SPEECH_URL"] = f"http://127.0.0.1:{port}"
            await_ready(url, processes.enter_context(child(server)), "the simulated speech server")
        yield settings


def _speech_server(speech: SimulatedSpeech, port: int) -> list[str]:
    return [
        # its many small products are slower with threads that wait for one another on a busy core
        *("env", "OPENBLAS_NUM_THREADS=1"),
        *(sys.executable, "-m", "bench.call.paced_speech", "--port", str(port)),
        *("--recorded-set", str(home_dir() / "bench"), "--stt", str(speech.stt_call_s)),
        *("--preflight", str(speech.stt_preflight_s)),
        *("--first-audio", str(speech.tts_first_audio_s), "--speed", str(speech.tts_speed)),
    ]
