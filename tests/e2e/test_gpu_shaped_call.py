"""The whole system in the shape that it has on GPUs, on a CPU: real engines throughout.

A caller → Whisper → the language model in vLLM, which calls a tool → Orpheus in vLLM, and SNAC →
the caller's ear. The checkpoints are tiny and know their sentences by heart; formats, servers and
settings are those of production. The words are checked at both ends.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from rapidfuzz.distance import Levenshtein

from tests import micro_whisper
from tests.call_words import words_of_call
from tests.e2e.test_call import CONVERSATION, Call, agent_side, call
from tests.stack import Stack, running_stack
from tests.tiny_dialogue import MODEL
from tests.tiny_dialogue import llama as dialogue_llama
from tests.tiny_office import ANSWERS, GREETING, HOURS, NAME, WHEN, write_persona
from tests.tiny_orpheus import LIKELIEST
from tests.tiny_orpheus import llama as voice_llama
from tests.tiny_voice import SNAC_FOLDER, sentences
from tests.vllm_environment import MISSING, PYTHON
from voice_agent.stack.running_stack import read_running_stack

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    # Training the tiny voice and starting two vLLM on a busy CPU take minutes.
    pytest.mark.timeout(1200),
]

START_TIMEOUT_S = 600
SPOKEN = {path.with_suffix(".txt").read_text().strip(): path for path in CONVERSATION}
LINES = (WHEN, HOURS)
ANSWERED = [ANSWERS[line] for line in LINES]
MOST_MISREAD = 1 + len(LINES)
"""One word of each sentence: the ear is unsure of single words of so small a voice."""
MOST_LATE_S = 0.1
"""A caller who is later than that with a frame stood still, and its words have holes."""
CALLS = 3
"""Held at most until a caller was never as late as that: two vLLM leave others little time."""
LONGEST_WAIT_S = 60
"""For an answer to begin, on a machine that is busy with two vLLM; nothing is timed."""


@pytest.fixture(scope="module")
def gpu_shaped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack with Whisper, and two vLLM whose memory is bounded."""
    home = tmp_path_factory.mktemp("gpu-shaped-home")
    personas = home / "personas"
    write_persona(personas)
    settings = {
        "language_engine": "vllm",
        "language_model": str(dialogue_llama()),
        "language_model_name": MODEL,
        "language_python": str(PYTHON),
        "language_cpu_cache_gib": "1",
        "language_context_tokens": "4096",
        "language_max_sequences": "4",
        "tts_engine": "orpheus",
        "tts_model": str(voice_llama()),
        "tts_snac": str(SNAC_FOLDER),
        "tts_memory_share": "0.1",
        "voice_python": str(PYTHON),
        **LIKELIEST,
        **micro_whisper.SETTINGS,
        "personas_dir": str(personas),
        "web_allowed_personas": NAME,
        "llm_timeout_s": str(LONGEST_WAIT_S),
        "ready_timeout_s": str(START_TIMEOUT_S),
    }
    named = {f"PARLEY_{name.upper()}": value for name, value in settings.items()}
    with running_stack(home, **named) as stack:
        yield stack


def voice_url(stack: Stack) -> str:
    running = read_running_stack(stack.home)
    assert running is not None
    assert running.voice_url is not None
    return running.voice_url


def roles(url: str) -> dict[str, str]:
    found: dict[str, str] = httpx.get(f"{url}/health").json()["roles"]
    return found


def test_every_engine_is_a_server_of_its_own(gpu_shaped: Stack) -> None:
    assert roles(gpu_shaped.speech_url) == {"stt": "ready"}
    assert roles(voice_url(gpu_shaped)) == {"tts": "ready"}
    cards = {
        url: [card["id"] for card in httpx.get(f"{url}/models").json()["data"]]
        for url in (gpu_shaped.llm_url, f"{voice_url(gpu_shaped)}/v1")
    }
    assert list(cards.values()) == [[MODEL], ["orpheus"]]
    assert {"speech", "voice", "language"} <= set(gpu_shaped.processes)


def tools_called(stack: Stack, since: int) -> list[str]:
    """Tools that agents have run, in order, after so many characters of the worker's log."""
    return re.findall(r'"message": "tool called".*"tool": "(\w+)"', stack.log("worker")[since:])


async def call_in_time(stack: Stack, folder: Path, *arguments: str | Path) -> tuple[Call, int]:
    """A call whose caller spoke in time, or the last of `CALLS`; and the worker's log before it."""
    for _ in range(CALLS):
        since = len(stack.log("worker"))
        result = await call(stack, folder, *arguments)
        assert result.status == 0, result.output
        if all(turn["caller_late_s"] <= MOST_LATE_S for turn in result.report["turns"]):
            break
    return result, since


async def test_a_whole_call_is_heard_answered_and_spoken_word_for_word(
    gpu_shaped: Stack, tmp_path: Path
) -> None:
    turns = [SPOKEN[line] for line in LINES]
    options = ("--persona", NAME, "--timeout", str(LONGEST_WAIT_S))
    result, since = await call_in_time(gpu_shaped, tmp_path, *options, *turns)
    assert result.report["greeting"]["reply"] == GREETING
    told = [(turn["heard_by_agent"], turn["reply"]) for turn in result.report["turns"]]
    assert told == list(zip(LINES, ANSWERED, strict=True)), result.report["turns"]
    assert tools_called(gpu_shaped, since) == ["opening_hours"]
    assert set(ANSWERED) <= set(sentences())
    said = re.findall(r"[a-z]+", " ".join((GREETING, *ANSWERED)).lower())
    heard = words_of_call(agent_side(result.recording, tmp_path), said)
    assert Levenshtein.distance(said, heard) <= MOST_MISREAD, heard


def test_a_dead_voice_is_told_by_ready_until_it_runs_again(gpu_shaped: Stack) -> None:
    with httpx.Client(base_url=voice_url(gpu_shaped), timeout=60) as http:
        body = {"model": "orpheus", "input": "Yes.", "response_format": "pcm"}
        children = psutil.Process(gpu_shaped.processes["voice"]).children(recursive=True)
        next(child for child in children if "EngineCore" in child.name()).kill()
        assert http.post("/v1/audio/speech", json=body).status_code >= 500
        answer = http.get("/ready")
        assert answer.status_code == 503
        assert "being started again" in answer.json()["roles"]["tts"]
        gpu_shaped.wait_for_log("voice", "the voice model runs again")
        assert http.get("/ready").status_code == 200
        answer = http.post("/v1/audio/speech", json=body)
        assert answer.status_code == 200
        assert answer.content
