"""What is asked of a running server apart from its load: its voices' silence, its tokens."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import numpy as np

from bench.percentiles import Percentiles
from bench.server_load import read_metrics, total
from bench.tts.engine_tokens import TokenCounts
from bench.tts.playout import lead_s, play
from bench.tts.wires import SpeechWire, Spoken, Wire, generate


class NotSpoken(RuntimeError):
    """The server did not speak what it has to speak for a measurement."""


@dataclass(frozen=True)
class Alone:
    """What one caller met on a quiet server."""

    replies: int
    first_byte_s: Percentiles
    audible_s: Percentiles
    rtf: Percentiles


async def speak_alone(wire: Wire, texts: Sequence[str]) -> Alone:
    """Ask for one reply after the other.

    Raises:
        NotSpoken: one was not spoken.
    """
    played = [play(spoken.pieces, spoken.asked_at_s) for spoken in await _speak(wire, texts)]
    first_byte_s = Percentiles.of([playout.first_byte_s for playout in played])
    audible_s = Percentiles.of([playout.audible_s for playout in played])
    rtf = Percentiles.of([playout.took_s / playout.audio_s for playout in played])
    assert first_byte_s is not None
    assert audible_s is not None
    assert rtf is not None
    return Alone(len(played), first_byte_s, audible_s, rtf)


async def english_voices(session: aiohttp.ClientSession, url: str) -> list[str]:
    """Ids of the server's English voices."""
    async with session.get(f"{url}/v1/audio/voices") as answer:
        listed: list[dict[str, Any]] = (await answer.json())["voices"]
    return [voice["id"] for voice in listed if voice["language"].startswith("en")]


async def leading_silences(
    session: aiohttp.ClientSession, url: str, texts: Sequence[str]
) -> dict[str, list[float]]:
    """The silence that replies open with, seconds, by voice: of every English voice and every text.

    Raises:
        NotSpoken: one was not spoken.
    """
    found = {}
    for voice in await english_voices(session, url):
        spoken = await _speak(SpeechWire(session, url, voice), texts)
        found[voice] = [lead_s(np.concatenate([p.pcm for p in one.pieces])) for one in spoken]
    return found


async def count_served(
    session: aiohttp.ClientSession, url: str, texts: Sequence[str]
) -> TokenCounts:
    """Speak every text alone, then cancel every text after its first audio; vLLM's own counts.

    Raises:
        NotSpoken: one was not spoken.
    """
    wire = SpeechWire(session, url)
    before_audio, after_cancel = [], []
    for text in texts:
        earlier = await _counted(url, "speech_tokens_before_audio_sum")
        await _speak(wire, [text])
        before_audio.append(await _counted(url, "speech_tokens_before_audio_sum") - earlier)
    shortest, longest = min(texts, key=len), max(texts, key=len)
    for text in [text for text in texts if len(text) > len(longest) / 2]:
        earlier = await _counted(url, "speech_tokens_after_cancel_total")
        await _cancel(session, url, text)
        # A whole reply after it: what was still made for the cancelled one has come by then.
        await _speak(wire, [shortest])
        after_cancel.append(await _counted(url, "speech_tokens_after_cancel_total") - earlier)
    return TokenCounts(round(max(before_audio)), None, round(max(after_cancel)))


async def _cancel(session: aiohttp.ClientSession, url: str, text: str) -> None:
    async with session.ws_connect(f"{url}/tts/websocket") as socket:
        await socket.send_json(generate("cancelled", text, more=False))
        while (message := await socket.receive_json())["type"] != "chunk":
            if message["done"]:
                raise NotSpoken(f"no audio of {text!r}: {message}")
        await socket.send_json({"context_id": "cancelled", "cancel": True})
        while not (await socket.receive_json())["done"]:
            pass


async def _speak(wire: Wire, texts: Sequence[str]) -> list[Spoken]:
    replies = [await wire.speak(text) for text in texts]
    for spoken in replies:
        if spoken.failure:
            raise NotSpoken(f"not spoken: {spoken.text!r}: {spoken.failure}")
    return replies


async def _counted(url: str, name: str) -> float:
    return total(await asyncio.to_thread(read_metrics, url), name)
