"""A whole call that is answered with the Orpheus voice: vLLM on a CPU, and the tiny model."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
import yaml

from tests.e2e.test_call import CONVERSATION, agent_side, call, transcribe
from tests.stack import Stack, running_stack
from tests.tiny_orpheus import LIKELIEST, llama
from tests.tiny_voice import SNAC_FOLDER, sentences
from tests.vllm_environment import MISSING, PYTHON
from voice_agent.stack.running_stack import read_running_stack

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    # Training the tiny model and starting vLLM on a busy CPU take minutes.
    pytest.mark.timeout(900),
]

OPENING_HOURS = next(path for path in CONVERSATION if "opening-hours" in path.name)
GREETING = "Hello, how can I help you today?"
HOURS = "The office opens at nine in the morning."
PARKING = "Please tell me your name."
PERSONA = {
    "name": "tiny",
    "disclosure": GREETING,
    "greeting": GREETING,
    "instructions": "You answer the telephone of an office.",
    # The tiny voice knows eight sentences; the script answers questions with facts word by word.
    "facts": [f"Opening hours: {HOURS}", f"Parking: {PARKING}"],
    # The script plays for personas that have a tool of the front desk.
    "tools": ["transfer_to_human"],
}
LEAST_SHARE_HEARD = 0.5
"""Of the words: two busy cores make vLLM slower than speech, and gaps within words are heard as
other words. Undisturbed speech is judged word by word in tests/contract/test_orpheus.py."""
START_TIMEOUT_S = 400


@pytest.fixture(scope="module")
def orpheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose voice is the tiny Orpheus."""
    home = tmp_path_factory.mktemp("orpheus-home")
    personas = home / "personas"
    personas.mkdir()
    (personas / "tiny.yaml").write_text(yaml.safe_dump(PERSONA))
    settings = {
        "PARLEY_TTS_ENGINE": "orpheus",
        "PARLEY_TTS_MODEL": str(llama()),
        "PARLEY_TTS_SNAC": str(SNAC_FOLDER),
        "PARLEY_TTS_MEMORY_SHARE": "0.1",
        **{f"PARLEY_{name.upper()}": value for name, value in LIKELIEST.items()},
        "PARLEY_VOICE_PYTHON": str(PYTHON),
        "PARLEY_PERSONAS_DIR": str(personas),
        "PARLEY_WEB_ALLOWED_PERSONAS": "tiny",
        "PARLEY_READY_TIMEOUT_S": str(START_TIMEOUT_S),
    }
    with running_stack(home, **settings) as stack:
        yield stack


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def voice_url(stack: Stack) -> str:
    running = read_running_stack(stack.home)
    assert running is not None
    assert running.voice_url is not None
    return running.voice_url


def roles(url: str) -> dict[str, str]:
    found: dict[str, str] = httpx.get(f"{url}/health").json()["roles"]
    return found


def test_one_server_listens_and_another_one_speaks(orpheus: Stack) -> None:
    assert roles(orpheus.speech_url) == {"stt": "ready"}
    assert roles(voice_url(orpheus)) == {"tts": "ready"}
    (card,) = httpx.get(f"{voice_url(orpheus)}/v1/models").json()["data"]
    assert card["id"] == "orpheus"
    assert "voice" in orpheus.processes


def segments_spoken(stack: Stack) -> float:
    """Segments that Orpheus has spoken to their end."""
    rows = httpx.get(f"{voice_url(stack)}/metrics").text.splitlines()
    name = 'speech_inference_seconds_count{engine="orpheus"}'
    return sum(float(row.split()[-1]) for row in rows if row.startswith(name))


async def test_a_whole_call_is_spoken_with_orpheus(orpheus: Stack, tmp_path: Path) -> None:
    before = segments_spoken(orpheus)
    turns = (OPENING_HOURS, "--text", "Is there parking?")
    result = await call(orpheus, tmp_path, "--persona", "tiny", *turns)
    assert result.status == 0, result.output
    assert result.report["greeting"]["reply"] == GREETING
    assert [turn["reply"] for turn in result.report["turns"]] == [HOURS, PARKING]
    said = (GREETING, HOURS, PARKING)
    assert segments_spoken(orpheus) - before >= len(said)
    assert set(said) <= set(sentences())
    heard = words(transcribe(orpheus, agent_side(result.recording, tmp_path)))
    found = [word in heard for sentence in said for word in words(sentence)]
    assert sum(found) / len(found) >= LEAST_SHARE_HEARD, heard


def test_a_dead_model_is_told_by_ready_until_it_runs_again(orpheus: Stack) -> None:
    with httpx.Client(base_url=voice_url(orpheus), timeout=60) as http:
        body = {"model": "orpheus", "input": "Yes.", "response_format": "pcm"}
        children = psutil.Process(orpheus.processes["voice"]).children(recursive=True)
        next(child for child in children if "EngineCore" in child.name()).kill()
        assert http.post("/v1/audio/speech", json=body).status_code >= 500
        answer = http.get("/ready")
        assert answer.status_code == 503
        assert "being started again" in answer.json()["roles"]["tts"]
        orpheus.wait_for_log("voice", "the voice model runs again")
        assert http.get("/ready").status_code == 200
        answer = http.post("/v1/audio/speech", json=body)
        assert answer.status_code == 200
        assert answer.content
