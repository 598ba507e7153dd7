import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from bench.stt.lines import ListenLine, Refused, WyomingLine


class Ear:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, object]] = asyncio.Queue()

    def heard_final(self, text: str) -> None:
        self.told.put_nowait(("final", text))

    def heard_interim(self, end_s: float) -> None:
        self.told.put_nowait(("interim", end_s))

    def lost(self, reason: str) -> None:
        self.told.put_nowait(("lost", reason))


def results(text: str, *, final: bool = True, preflight: bool = False) -> str:
    return json.dumps(
        {
            "type": "Results",
            "is_final": final,
            "preflight": preflight,
            "start": 1.0,
            "duration": 0.5,
            "channel": {"alternatives": [{"transcript": text}]},
        }
    )


@asynccontextmanager
async def listen_server(*answers: str) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Collects audio, and gives the answers to Finalize."""
    audio: list[bytes] = []

    async def connection(socket: ServerConnection) -> None:
        async for message in socket:
            if isinstance(message, bytes):
                audio.append(message)
            elif json.loads(message)["type"] == "CloseStream":
                return
            else:
                for answer in answers:
                    await socket.send(answer)

    async with serve(connection, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/listen?a=b", audio


async def test_audio_and_answers_go_over_the_websocket() -> None:
    answers = (
        results("He", final=False),
        results("Hello.", final=False, preflight=True),
        results("Hello."),
    )
    async with listen_server(*answers) as (url, audio):
        ear = Ear()
        line = ListenLine(url, ear)
        await line.open()
        for frame in (b"\1" * 640, b"\2" * 640):
            line.send(line.encode(frame))
        line.finalize()
        assert await ear.told.get() == ("interim", 1.5)
        assert await ear.told.get() == ("final", "Hello.")
        assert audio == [b"\1" * 640, b"\2" * 640]
        line.close()


async def test_an_error_of_the_server_is_told() -> None:
    error = json.dumps({"type": "Error", "code": "overloaded", "description": "too much"})
    async with listen_server(error) as (url, _):
        ear = Ear()
        line = ListenLine(url, ear)
        await line.open()
        line.finalize()
        assert await ear.told.get() == ("lost", "overloaded: too much")
        line.close()


async def test_a_server_that_hangs_up_is_told() -> None:
    async def hang_up(socket: ServerConnection) -> None:
        await socket.recv()

    async with serve(hang_up, "127.0.0.1", 0) as server:
        ear = Ear()
        line = ListenLine(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/", ear)
        await line.open()
        line.send(line.encode(b"\0" * 640))
        kind, _ = await ear.told.get()
        assert kind == "lost"


async def test_a_refusal_says_why() -> None:
    async with listen_server() as (url, _):
        pass
    with pytest.raises(Refused):
        await ListenLine(url, Ear()).open()


async def test_an_http_answer_is_a_refusal() -> None:
    async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(busy, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Refused, match="429"):
            await ListenLine(f"ws://127.0.0.1:{port}/v1/listen", Ear()).open()


@asynccontextmanager
async def wyoming_server(*, answers: bool = True) -> AsyncIterator[int]:
    """Tells how many bytes of audio an utterance had, then hangs up; gives its port."""
    served: list[asyncio.Task[None] | None] = []

    async def transcribe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.current_task())
        audio = b""
        while answers and (line := await reader.readline()):
            header = json.loads(line)
            audio += await reader.readexactly(header.get("payload_length", 0))
            if header["type"] == "audio-stop":
                data = json.dumps({"text": f"{len(audio)} bytes"}).encode()
                head = {"type": "transcript", "data_length": len(data)}
                writer.write(json.dumps(head).encode() + b"\n" + data)
                break
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(transcribe, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*filter(None, served))


async def test_wyoming_answers_each_utterance_on_a_connection_of_its_own() -> None:
    async with wyoming_server() as port:
        ear = Ear()
        line = WyomingLine(port, ear)
        await line.open()
        for _ in range(2):
            assert line.ready
            line.begin()
            line.send(line.encode(b"\0" * 640))
            line.finalize()
            assert await ear.told.get() == ("final", "640 bytes")
            async with asyncio.timeout(10):
                while not line.ready:  # noqa: ASYNC110  # it reconnects in a task of its own
                    await asyncio.sleep(0)
        line.close()


async def test_a_wyoming_server_that_hangs_up_is_told() -> None:
    async with wyoming_server(answers=False) as port:
        ear = Ear()
        line = WyomingLine(port, ear)
        await line.open()
        kind, _ = await ear.told.get()
        assert kind == "lost"
        line.close()
