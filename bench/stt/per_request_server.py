"""The usual way to serve Whisper live: buffer the audio, decode each request alone, in threads.

    python -m bench.stt.per_request_server --model DIR --workers 1 --threads 2 --port 0

A peer to compare with, written as such servers are and with the best settings they use:
faster-whisper, greedy, no fallback to other temperatures, no timestamps, language given. It speaks
the part of `WS /v1/listen` that a caller with Finalize needs, and gives no interims. Says on
standard output where it listens.
"""

import argparse
import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from faster_whisper import WhisperModel
from websockets.asyncio.server import ServerConnection, serve

_PRE_ROLL_FRAMES: Final = 10
_SPEECH_PEAK: Final = 300
"""|sample| of 16 bit: below it a frame is silence, as an energy gate decides."""


class _Transcriber:
    def __init__(self, model: str, workers: int, threads: int, device: str) -> None:
        compute_type = "float16" if device == "cuda" else "int8"
        self._model = WhisperModel(
            model,
            device=device,
            compute_type=compute_type,
            cpu_threads=threads,
            num_workers=workers,
        )
        self._pool = ThreadPoolExecutor(workers)

    async def transcribe(self, audio: bytes) -> str:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._transcribe, audio)

    def _transcribe(self, audio: bytes) -> str:
        pcm = np.frombuffer(audio, "<i2").astype(np.float32) / np.float32(2**15)
        segments, _ = self._model.transcribe(
            pcm,
            language="en",
            beam_size=1,
            best_of=1,
            temperature=0.0,
            without_timestamps=True,
            condition_on_previous_text=False,
            vad_filter=False,
        )
        return " ".join(segment.text.strip() for segment in segments)


class _Buffer:
    """An utterance's audio, with a little of what came before it."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._speaking = False

    def add(self, frame: bytes) -> None:
        self._speaking |= int(np.abs(np.frombuffer(frame, "<i2")).max(initial=0)) > _SPEECH_PEAK
        self._frames.append(frame)
        if not self._speaking:
            del self._frames[:-_PRE_ROLL_FRAMES]

    def take(self) -> bytes:
        audio = b"".join(self._frames) if self._speaking else b""
        self._frames, self._speaking = [], False
        return audio


async def _serve(transcriber: _Transcriber, port: int) -> None:
    async def connection(socket: ServerConnection) -> None:
        buffer = _Buffer()
        async for message in socket:
            if isinstance(message, bytes):
                buffer.add(message)
            elif json.loads(message)["type"] == "CloseStream":
                return
            elif audio := buffer.take():
                await socket.send(json.dumps(_final(await transcriber.transcribe(audio))))
            else:
                await socket.send(json.dumps(_final("")))

    async with serve(connection, "127.0.0.1", port, compression=None) as server:
        print(f"listening on port {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


def _final(text: str) -> dict[str, Any]:
    return {
        "type": "Results",
        "is_final": True,
        "from_finalize": True,
        "channel": {"alternatives": [{"transcript": text}]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="directory in faster-whisper's format")
    parser.add_argument("--workers", type=int, default=1, help="requests decoded at once")
    parser.add_argument("--threads", type=int, default=2, help="threads of each")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    transcriber = _Transcriber(options.model, options.workers, options.threads, options.device)
    asyncio.run(_serve(transcriber, options.port))


if __name__ == "__main__":
    main()
