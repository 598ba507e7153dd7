"""A cable between client and server that a test can pull."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Relay:
    """A loopback port in front of a server: a cable that the test can pull."""

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.connections = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def plug_in(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def pull(self) -> None:
        """Cut what runs and take no new connections."""
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Cut what runs; new connections go through."""
        for writer in self._writers:
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.transport.abort()
            return
        self.connections += 1
        self._writers |= {writer, up_writer}
        await asyncio.gather(self._pipe(reader, up_writer), self._pipe(up_reader, writer))
        self._writers -= {writer, up_writer}

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    @classmethod
    @asynccontextmanager
    async def running(cls, upstream: int = 0) -> AsyncIterator["Relay"]:
        relay = cls(upstream)
        await relay.plug_in()
        try:
            yield relay
        finally:
            await relay.pull()
