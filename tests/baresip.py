"""baresip as a process: its configuration, the commands it is given and the events it tells of."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.children import free_port
from tests.isolated_network import NEAR_IPV4

Event = dict[str, Any]
"""One of baresip's events: `type`, for those of a call its `id`, and for some a `param`."""

_POLL_S = 0.05
_MODULES = "/usr/lib/baresip/modules"

_CONFIG = """\
module_path {modules}
sip_listen {address}:{sip_port}
rtp_ports 30000-31000
audio_source aufile,{noise}
audio_player aubridge,nil
snd_path {folder}
ctrl_tcp_listen 127.0.0.1:{control_port}
module g711.so
module aufile.so
module aubridge.so
module sndfile.so
module_tmp account.so
module_app menu.so
module_app ctrl_tcp.so
"""


class Baresip:
    """A running baresip, by its control connection: netstrings with one JSON object each."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.events: list[Event] = []
        """Everything that has happened, in order."""
        self._changed = asyncio.Condition()
        self._reading = asyncio.create_task(self._read(reader))

    async def command(self, command: str, params: str = "") -> None:
        """Tell it what to do; it answers with the event that follows."""
        message = json.dumps({"command": command} | ({"params": params} if params else {}))
        self._writer.write(f"{len(message)}:{message},".encode())
        await self._writer.drain()

    async def until(self, wanted: Callable[[Event], bool], check: Callable[[], None]) -> Event:
        """Wait for an event, which may have happened already.

        Args:
            wanted: whether it is the one.
            check: asked before each wait; it raises where waiting is in vain.
        """
        async with self._changed:
            while True:
                for event in self.events:
                    if wanted(event):
                        return event
                check()
                await self._changed.wait()

    async def close(self) -> None:
        """Stop listening to it."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                length = int((await reader.readuntil(b":"))[:-1])
            except asyncio.IncompleteReadError:
                return
            message = json.loads((await reader.readexactly(length + 1))[:-1])
            async with self._changed:
                if message.get("event"):
                    self.events.append(message)
                elif not message["ok"]:
                    raise RuntimeError(f"baresip: {message['data']}")
                self._changed.notify_all()


@asynccontextmanager
async def baresip(folder: Path, account: str, noise: Path, sip_port: int) -> AsyncIterator[Baresip]:
    """Run baresip.

    Args:
        folder: for its configuration, its log and its recordings.
        account: who it is, as its file `accounts` has it.
        noise: WAV file that it sends until it is told otherwise.
        sip_port: where it takes calls.

    Raises:
        RuntimeError: it has ended at once.
    """
    control_port = free_port()
    config = _CONFIG.format(
        modules=_MODULES,
        address=NEAR_IPV4,
        sip_port=sip_port,
        noise=noise,
        folder=folder,
        control_port=control_port,
    )
    (folder / "config").write_text(config)
    (folder / "accounts").write_text(f"{account}\n")
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "baresip", "-4", "-f", folder,
            stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
    try:
        running = Baresip(*await _connect(process, control_port))
        try:
            yield running
        finally:
            await running.close()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _connect(
    process: asyncio.subprocess.Process, port: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect until it listens: baresip has no other sign of being ready."""
    while process.returncode is None:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(_POLL_S)
    raise RuntimeError(f"baresip ended with status {process.returncode}")
