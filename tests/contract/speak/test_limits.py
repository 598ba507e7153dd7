"""Places, slow readers and clients that leave, over a real socket."""

import socket

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.contract.speak.speak_client import (
    audio,
    generate,
    receive,
    send,
    still_alive,
    until_done,
)
from tests.speech_server_process import SpeechServer, speech_server_process


async def test_limits_of_contexts_and_capacity() -> None:
    settings = {"tts_capacity_streams": "2", "tts_max_contexts": "3", "tts_idle_timeout_s": "1"}
    with speech_server_process(roles=("tts",), **settings) as server:
        url = f"{server.ws_url}/tts/websocket"
        async with connect(url) as first, connect(url) as second:
            for context_id in ("a", "b"):
                await send(first, generate(context_id, "Hello", **{"continue": True}))
            await send(first, generate("c", "Hello"))
            error = (await until_done(first, "c"))[-1]
            assert (error["status_code"], error["retryable"]) == (429, True)
            assert error["error_code"] == "overloaded"
            # The end of a context that never spoke needs no place.
            await send(second, generate("d", ""))
            assert (await receive(second))["type"] == "done"
            # Places come back with the connection that held them.
            await first.close()
            await send(second, generate("e", "Hello."))
            messages = await until_done(second, "e")
            while messages[-1]["type"] == "error":
                await send(second, generate("e", "Hello."))
                messages = await until_done(second, "e")
            assert len(audio(messages)) > 2_400
            # Nothing is sent and nothing is spoken: the server ends the connection.
            with pytest.raises(ConnectionClosed):
                await second.recv()
            assert second.close_code == 1001


async def test_client_gone_in_mid_audio_frees_its_places(http: httpx.AsyncClient) -> None:
    url = str(http.base_url).replace("http", "ws", 1).rstrip("/") + "/tts/websocket"
    async with connect(url) as ws:
        for number in range(4):
            await send(ws, generate(f"c{number}", "word " * 800))
        await receive(ws)
        ws.transport.abort()
    while 'speech_streams_active{service="tts"} 0.0' not in (await http.get("/metrics")).text:
        pass  # the answer of /metrics is what is waited for


async def test_a_slow_reader_holds_back_only_itself(speech_server: SpeechServer) -> None:
    url = f"{speech_server.ws_url}/tts/websocket"
    slow_socket = socket.socket()
    slow_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    slow_socket.connect((url.split("/")[2].split(":")[0], speech_server.port))
    async with connect(url, sock=slow_socket, max_queue=1) as slow, connect(url) as other:
        await send(slow, generate("slow", "word " * 300))
        await still_alive(other)
        messages = await until_done(slow, "slow")
        assert len(audio(messages)) > 50 * 24_000
