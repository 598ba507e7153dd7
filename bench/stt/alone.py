"""Every recording alone on a quiet server: what was decoded ahead is free, and reads the same.

Each is streamed on a connection of its own, as fast as the server takes it (time in the server is
counted in samples), and finalised once its preflight has come. Nothing else is in the way: what is
left of a final is the message in, the look-up and the message out; and where its words differ from
those of the same audio given as a file, streaming itself is the cause and not the load.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import websockets

from bench.percentiles import Percentiles
from bench.stt.offline import QUIET_S
from bench.stt.recordings import Recording, silent_frames
from bench.stt.rounds import against
from bench.stt.word_errors import Difference, difference, word_error_rate

_TIMEOUT_S: Final = 20.0
_FADING_S: Final = 0.25
"""A last sound so soft that the server takes it for silence already."""


@dataclass(frozen=True)
class Alone:
    """What a recorded set gave, one recording after the other."""

    recordings: int
    final_after_preflight_s: Percentiles | None
    """From sending Finalize until its final has arrived, the client's part included."""
    wer: float | None
    """Of the finals, against what is truly said."""
    offline_wer: float | None
    """Of the same audio decoded as files."""
    difference: Difference | None
    """Of the two."""


async def measure_alone(
    url: str, recordings: Iterable[Recording], offline: Mapping[str, str]
) -> Alone:
    """Stream every recording.

    Args:
        url: of our server's `/v1/listen`, with a query that asks for preflights.
        recordings: what is said.
        offline: what decoding them as files gave, by name.

    Raises:
        TimeoutError: the server did not answer.
    """
    quiet = silent_frames(QUIET_S)
    took_s: list[float] = []
    heard: list[tuple[Recording, str]] = []
    for recording in recordings:
        async with asyncio.timeout(_TIMEOUT_S):
            text, final_s = await _stream(
                url, (*quiet, *recording.frames, *quiet), QUIET_S + recording.duration_s
            )
        heard.append((recording, text))
        took_s.append(final_s)
    return Alone(
        len(heard),
        Percentiles.of(took_s),
        word_error_rate((recording.text, text) for recording, text in heard),
        word_error_rate((recording.text, offline[recording.name]) for recording, _ in heard),
        difference(against(recording, text, offline[recording.name]) for recording, text in heard),
    )


async def _stream(url: str, frames: Iterable[bytes], speech_end_s: float) -> tuple[str, float]:
    """The final's text, and how long it took to come."""
    async with websockets.connect(url, proxy=None, compression=None) as socket:
        for frame in frames:
            await socket.send(frame)
        async for text in socket:
            message = json.loads(text)
            covered_s = message.get("start", 0.0) + message.get("duration", 0.0)
            if message.get("preflight") and covered_s >= speech_end_s - _FADING_S:
                break
        asked_at = time.perf_counter()
        await socket.send('{"type":"Finalize"}')
        while not (message := json.loads(await socket.recv())).get("from_finalize"):
            pass
        final_s = time.perf_counter() - asked_at
        await socket.send('{"type":"CloseStream"}')
        return str(message["channel"]["alternatives"][0]["transcript"]), final_s
