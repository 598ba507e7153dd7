"""Orpheus behind the wires: vLLM on a CPU, the tiny voice, and a listener who reads its words."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect

from speech_server.tts.silence import AUDIBLE_LEVEL
from tests.contract.speak.speak_client import audio, generate, receive, send, until_done
from tests.heard import words_heard
from tests.speech_server_process import SpeechServer
from tests.tiny_orpheus import tiny_orpheus_server
from tests.tiny_voice import sentences
from tests.vllm_environment import MISSING, PYTHON

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    # Training the tiny model and starting vLLM on a busy CPU take minutes.
    pytest.mark.timeout(600),
]

TEXTS = tuple(sentences())
LONGEST = max(TEXTS, key=lambda text: len(sentences()[text]))
RATE_HZ = 24_000
MAX_WRONG_WORDS = 2
"""The tiny voice is as clear as its codec: one word in ten is read otherwise."""
MAX_TOKENS_AFTER_CANCEL = 2
"""One step, and the one that vLLM had already begun."""


@pytest.fixture(scope="module")
def server() -> Iterator[SpeechServer]:
    with tiny_orpheus_server(tts_capacity_streams="8") as running:
        yield running


@pytest.fixture
async def http(server: SpeechServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture
async def ws(server: SpeechServer) -> AsyncIterator[ClientConnection]:
    async with connect(f"{server.ws_url}/tts/websocket") as connection:
        yield connection


async def speech(http: httpx.AsyncClient, text: str, voice: str = "tara") -> np.ndarray:
    answer = await http.post(
        "/v1/audio/speech",
        json={"model": "orpheus", "voice": voice, "input": text, "response_format": "pcm"},
    )
    assert answer.status_code == 200, answer.text
    return np.frombuffer(answer.content, "<i2")


async def metric(http: httpx.AsyncClient, name: str) -> float:
    """The sum of a metric over its labels."""
    rows = (await http.get("/metrics")).text.splitlines()
    found = [row for row in rows if re.match(rf"{name}(\{{.*\}})? ", row)]
    return sum(float(row.rsplit(" ", 1)[1]) for row in found)


def wrong_words(text: str, pcm: np.ndarray) -> int:
    """Words said and not heard, or heard and not said."""
    said = re.findall(r"[a-z0-9']+", text.lower())
    heard = words_heard(pcm, RATE_HZ)
    missing = sum(word not in heard for word in said)
    return max(missing, sum(word not in said for word in heard))


def leading_silence_s(pcm: np.ndarray) -> float:
    """Time before the first 10 ms whose loudness is that of speech."""
    steps = pcm[: len(pcm) // 240 * 240].astype(np.float64).reshape(-1, 240)
    return float(np.flatnonzero(np.sqrt((steps**2).mean(axis=1)) >= AUDIBLE_LEVEL)[0]) * 0.01


async def test_voices_and_model_are_told(http: httpx.AsyncClient) -> None:
    voices = (await http.get("/v1/audio/voices")).json()["voices"]
    assert [voice["id"] for voice in voices] == [
        "tara", "leo", "leah", "jess", "dan", "mia", "zac", "zoe",
    ]  # fmt: skip
    aliases = [alias for voice in voices for alias in voice["aliases"]]
    assert len(aliases) == 13
    (card,) = (await http.get("/v1/models")).json()["data"]
    assert card["id"] == "orpheus"


@pytest.mark.parametrize("text", TEXTS)
async def test_a_sentence_is_heard_and_starts_at_once(http: httpx.AsyncClient, text: str) -> None:
    pcm = await speech(http, text)
    assert wrong_words(text, pcm) <= MAX_WRONG_WORDS
    # The voice itself begins with a quarter of a second of near-silence.
    assert leading_silence_s(pcm) <= 0.04


@pytest.mark.parametrize("voice", ["leah", "jess", "leo", "dan", "mia", "zac", "zoe", "nova"])
async def test_every_voice_speaks(http: httpx.AsyncClient, voice: str) -> None:
    text = "Please tell me your name."
    assert wrong_words(text, await speech(http, text, voice)) <= 1


async def test_first_audio_comes_after_two_frames(http: httpx.AsyncClient) -> None:
    await speech(http, "Your table is ready.")
    tokens = await metric(http, "speech_tokens_before_audio_sum")
    segments = await metric(http, "speech_tokens_before_audio_count")
    # A busy machine makes one more now and then while the audio is on its way.
    assert tokens / segments < 15


async def test_several_callers_at_once_each_get_their_own_words(http: httpx.AsyncClient) -> None:
    texts = TEXTS[:4]
    spoken = await asyncio.gather(*(speech(http, text) for text in texts))
    assert [wrong_words(*pair) <= MAX_WRONG_WORDS for pair in zip(texts, spoken, strict=True)] == [
        True
    ] * len(texts)


async def test_a_streamed_reply_is_spoken_in_order(ws: ClientConnection) -> None:
    first, second = "Of course, one moment please.", "Let me look that up for you."
    words = f"{first} {second}".split(" ")
    for word in words:
        await send(ws, generate("reply", f"{word} ", **{"continue": True}))
    await send(ws, generate("reply", ""))
    messages = await until_done(ws, "reply")
    assert messages[-1]["type"] == "done"
    pcm = audio(messages)
    assert wrong_words(f"{first} {second}", pcm) <= 2 * MAX_WRONG_WORDS
    heard = words_heard(pcm, RATE_HZ)
    assert heard.index("moment") < heard.index("look")


async def test_words_are_timed_within_the_audio_that_was_sent(ws: ClientConnection) -> None:
    await send(ws, generate("reply", LONGEST, add_timestamps=True))
    sent_s, words, ends = 0.0, [], [0.0]
    for message in await until_done(ws, "reply"):
        if message["type"] == "chunk":
            sent_s += len(audio([message])) / RATE_HZ
        elif message["type"] == "timestamps":
            times = message["word_timestamps"]
            words += times["words"]
            ends += times["end"]
    assert words == LONGEST.split()
    assert ends == sorted(ends)
    assert sent_s - 1.0 < ends[-1] <= sent_s


class TestCancelled:
    @pytest.fixture(autouse=True)
    async def _generation_stops(self, http: httpx.AsyncClient) -> AsyncIterator[None]:
        late = await metric(http, "speech_tokens_after_cancel_total")
        cancelled = await metric(http, "speech_work_dropped_total")
        tokens = await metric(http, "speech_tokens_total")
        yield
        # A whole reply after it: whatever was still made for the cancelled one has come by then.
        await speech(http, "Yes.")
        assert await metric(http, "speech_work_dropped_total") == cancelled + 1
        whole = 7 * (len(sentences()[LONGEST]) + len(sentences()["Yes."])) + 2
        assert await metric(http, "speech_tokens_total") - tokens < whole
        after = await metric(http, "speech_tokens_after_cancel_total") - late
        assert after <= MAX_TOKENS_AFTER_CANCEL

    async def test_by_message(self, ws: ClientConnection) -> None:
        await send(ws, generate("reply", LONGEST))
        assert (await receive(ws))["type"] == "chunk"
        await send(ws, {"context_id": "reply", "cancel": True})
        await send(ws, generate("next", "Yes."))
        messages = await until_done(ws, "next")
        assert messages[-1]["type"] == "done"

    async def test_by_hanging_up(self, http: httpx.AsyncClient) -> None:
        body = {"model": "m", "voice": "tara", "input": LONGEST, "response_format": "pcm"}
        async with http.stream("POST", "/v1/audio/speech", json=body) as answer:
            async for _ in answer.aiter_bytes():
                break


class TestBadInput:
    @pytest.fixture(autouse=True)
    async def _others_are_served(self, http: httpx.AsyncClient) -> AsyncIterator[None]:
        yield
        pcm = await speech(http, "Please tell me your name.")
        assert wrong_words("Please tell me your name.", pcm) <= 1

    @pytest.mark.parametrize(
        "text", ["<custom_token_5>", "<|eot_id|>", "🙂🙂", "?!", "<|eot_id|><custom_token_5>"]
    )
    async def test_nothing_to_say_is_told(self, http: httpx.AsyncClient, text: str) -> None:
        answer = await http.post("/v1/audio/speech", json={"model": "m", "input": text})
        assert answer.status_code == 400
        assert "nothing to speak" in answer.json()["error"]["message"]

    @pytest.mark.parametrize(
        "text",
        [
            "<custom_token_5>Please tell <|eot_id|>me your <custom_token_28>name.",
            "Please tell me your 🙂 name.",
            "**Please** tell me your `name`.",
        ],
    )
    async def test_what_is_no_text_is_not_said(self, http: httpx.AsyncClient, text: str) -> None:
        assert wrong_words("Please tell me your name.", await speech(http, text)) <= 1

    async def test_empty_text(self, http: httpx.AsyncClient) -> None:
        answer = await http.post("/v1/audio/speech", json={"model": "m", "input": ""})
        assert answer.status_code == 400

    async def test_fifty_thousand_characters(self, http: httpx.AsyncClient) -> None:
        answer = await http.post("/v1/audio/speech", json={"model": "m", "input": "x" * 50_000})
        assert answer.status_code == 413
        assert "4096 characters" in answer.json()["error"]["message"]

    @pytest.mark.parametrize("text", ["a", "مرحبا بك", "你好", "<laugh", "Yes. <laugh>"])
    async def test_a_text_unlike_all_it_knows_ends(
        self, http: httpx.AsyncClient, text: str
    ) -> None:
        body = {"model": "m", "voice": "tara", "input": text, "response_format": "pcm"}
        answer = await http.post("/v1/audio/speech", json=body)
        # What a tiny model makes of it is anybody's guess: some speech, or silence, but an end.
        assert answer.status_code in {200, 400}
        assert len(answer.content) < 20 * RATE_HZ * 2

    async def test_an_unknown_voice_lists_the_known(self, http: httpx.AsyncClient) -> None:
        answer = await http.post(
            "/v1/audio/speech", json={"model": "m", "input": "Yes.", "voice": "bob"}
        )
        assert answer.status_code == 404
        assert "tara, leo, leah" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tts_model": "/no/such"}, "PARLEY_TTS_MODEL=/no/such: there is no such directory"),
        ({"tts_snac": "/no/such"}, "there is no directory /no/such (PARLEY_TTS_SNAC"),
    ],
)
def test_a_model_that_is_not_there_is_told_by_ready(settings: dict[str, str], said: str) -> None:
    with tiny_orpheus_server(**settings) as server:
        answer = httpx.get(f"{server.url}/ready")
        assert answer.status_code == 503
        assert said in answer.text
