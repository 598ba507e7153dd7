"""Pipecat's Deepgram, OpenAI and Cartesia services, unmodified, in real Pipecat pipelines."""

import base64
import json
import subprocess
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
import pytest

from tests.heard import share_heard
from tests.speech_server_process import SpeechServer
from tests.spoken import silence, speak

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-pipecat" / "bin" / "python"
TIMEOUT_S = 60.0
QUESTION = "What are your opening hours?"
WISH = "I would like to book a table for tomorrow."
ANSWER = "We are open from nine to five. On Sundays, we are closed."
OFFER = "Anything else?"
ENDLESS = "word " * 800
CARTESIA = ["cartesia", "cartesia-tokens"]
Frame = dict[str, Any]


@dataclass
class Outcome:
    """What came out of a pipeline."""

    frames: list[Frame]
    errors: list[str]
    tasks_left: list[str]

    def of(self, *kinds: str) -> list[Frame]:
        """The frames of some kinds, in order."""
        return [frame for frame in self.frames if frame["kind"] in kinds]

    def texts(self, kind: str) -> list[str]:
        return [frame["text"] for frame in self.of(kind)]

    def contexts(self) -> list[str]:
        """The replies that were begun, in order."""
        return [frame["context_id"] for frame in self.of("TTSStartedFrame")]

    def audio(self, context_id: str) -> npt.NDArray[np.int16]:
        """What was spoken of one reply."""
        pieces = [f for f in self.of("TTSAudioRawFrame") if f["context_id"] == context_id]
        assert {piece["sample_rate"] for piece in pieces} == {24_000}
        return np.frombuffer(b"".join(base64.b64decode(p["audio"]) for p in pieces), dtype="<i2")

    def went_well(self) -> bool:
        return not (self.of("ErrorFrame") or self.errors or self.tasks_left)


def pipecat(
    action: str, service: str, server: SpeechServer, inputs: Sequence[str], **settings: object
) -> Outcome:
    """Run one of `pipecat_pipelines.py`."""
    assert PYTHON.exists(), "Pipecat has an environment of its own: make .venv-pipecat/.installed"
    script = Path(__file__).with_name("pipecat_pipelines.py")
    options = ["--settings", json.dumps(settings)]
    run = subprocess.run(
        [PYTHON, script, action, service, server.url, server.api_key, *inputs, *options],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return Outcome(**json.loads(run.stdout))


@pytest.fixture(scope="module")
def utterances(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two utterances with the silence after which a caller's turn ends."""
    folder = tmp_path_factory.mktemp("utterances")
    paths = []
    for number, text in enumerate([QUESTION, WISH]):
        pcm = np.concatenate([silence(0.3), speak(text), silence(0.8)])
        paths.append(str(folder / f"{number}.wav"))
        with wave.open(paths[-1], "wb") as file:
            file.setparams((1, 2, 16_000, len(pcm), "NONE", ""))
            file.writeframes(pcm.astype("<i2").tobytes())
    return paths


def wait_until_idle(server: SpeechServer, service: str) -> None:
    idle = f'speech_streams_active{{service="{service}"}} 0.0'
    while idle not in httpx.get(f"{server.url}/metrics").text:
        pass  # the answer of /metrics is what is waited for; the test's own timeout ends it


# --- speech to text ---


def test_deepgram_hears_turn_after_turn(
    keyed_speech_server: SpeechServer, utterances: list[str]
) -> None:
    outcome = pipecat("hear", "deepgram", keyed_speech_server, utterances)
    assert outcome.went_well()
    assert outcome.texts("TranscriptionFrame") == [QUESTION, WISH]
    wait_until_idle(keyed_speech_server, "stt")


def test_deepgram_finalizes_where_pipecat_hears_the_turn_end(
    keyed_speech_server: SpeechServer, utterances: list[str]
) -> None:
    """With the server's endpointing off, only `Finalize` ends an utterance."""
    outcome = pipecat("hear", "deepgram", keyed_speech_server, utterances, endpointing=False)
    assert outcome.went_well()
    finals = outcome.of("TranscriptionFrame")
    assert [final["text"] for final in finals] == [QUESTION, WISH]
    assert all(final["finalized"] for final in finals)
    order = [f["kind"] for f in outcome.of("VADUserStoppedSpeakingFrame", "TranscriptionFrame")]
    assert order == ["VADUserStoppedSpeakingFrame", "TranscriptionFrame"] * 2


def test_deepgram_caller_hangs_up_in_mid_word(
    keyed_speech_server: SpeechServer, utterances: list[str]
) -> None:
    outcome = pipecat("hang-up", "deepgram", keyed_speech_server, utterances)
    assert outcome.went_well()
    wait_until_idle(keyed_speech_server, "stt")


def test_deepgram_sees_a_refusal_as_one(
    keyed_speech_server: SpeechServer, utterances: list[str]
) -> None:
    outcome = pipecat("hear", "deepgram", keyed_speech_server, utterances, diarize=True)
    (error,) = outcome.of("ErrorFrame")
    assert "status 400" in error["error"]
    assert not outcome.tasks_left


def test_openai_hears_turn_after_turn(
    keyed_speech_server: SpeechServer, utterances: list[str]
) -> None:
    outcome = pipecat("hear", "openai", keyed_speech_server, utterances)
    assert outcome.went_well()
    assert outcome.texts("TranscriptionFrame") == [QUESTION, WISH]


# --- text to speech ---


def assert_spoken(outcome: Outcome, *texts: str) -> None:
    """Every text was heard as it was written, and Pipecat holds it as spoken."""
    assert outcome.went_well()
    for text, context_id in zip(texts, outcome.contexts(), strict=True):
        assert share_heard(text, outcome.audio(context_id), 24_000) == 1.0
    assert " ".join(outcome.texts("TTSTextFrame")) == " ".join(texts)


@pytest.mark.parametrize("service", CARTESIA)
def test_cartesia_speaks_reply_after_reply(keyed_speech_server: SpeechServer, service: str) -> None:
    outcome = pipecat("speak", service, keyed_speech_server, [ANSWER, OFFER])
    assert_spoken(outcome, ANSWER, OFFER)
    words = [word for word in outcome.of("TTSTextFrame") if word["text"] in ANSWER.split()]
    assert [word["text"] for word in words] == ANSWER.split()
    times_s = [(word["pts"] - words[0]["pts"]) / 1e9 for word in words]
    assert times_s == sorted(times_s)
    spoken_s = len(outcome.audio(words[0]["context_id"])) / 24_000
    assert 0.5 * spoken_s < times_s[-1] < spoken_s
    wait_until_idle(keyed_speech_server, "tts")


def test_openai_speaks_reply_after_reply(keyed_speech_server: SpeechServer) -> None:
    assert_spoken(pipecat("speak", "openai", keyed_speech_server, [ANSWER, OFFER]), ANSWER, OFFER)
    wait_until_idle(keyed_speech_server, "tts")


@pytest.mark.parametrize("service", [*CARTESIA, "openai"])
def test_an_interruption_reaches_the_engine(
    keyed_speech_server: SpeechServer, service: str
) -> None:
    # The pipeline itself waits until the server has dropped the work.
    outcome = pipecat("interrupt", service, keyed_speech_server, [ENDLESS, OFFER])
    assert outcome.went_well()
    interrupted, after = outcome.contexts()
    at = outcome.frames.index(outcome.of("InterruptionFrame")[0])
    assert interrupted not in [frame.get("context_id") for frame in outcome.frames[at:]]
    assert share_heard(OFFER, outcome.audio(after), 24_000) == 1.0
    wait_until_idle(keyed_speech_server, "tts")


def test_cartesia_sees_a_refusal_as_one(keyed_speech_server: SpeechServer) -> None:
    outcome = pipecat("speak", "cartesia", keyed_speech_server, [OFFER], voice="nobody")
    assert "no such voice; there are: slt" in outcome.of("ErrorFrame")[0]["error"]
    assert not outcome.tasks_left
