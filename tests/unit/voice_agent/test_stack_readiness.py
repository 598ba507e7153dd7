import sys

import pytest

from voice_agent.settings import environment
from voice_agent.stack.errors import StackError
from voice_agent.stack.ports import LOOPBACK, PortWish, settle_ports
from voice_agent.stack.processes import ProcessGroup, Program
from voice_agent.stack.readiness import wait_until_ready

ANSWERS = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503)
        self.end_headers()
        self.wfile.write(sys.argv[2].encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class Silent:
    def process_line(self, name: str, line: str) -> None:
        pass


def answering(body: str) -> Program:
    """A program that is asked whether it is ready and always gives this answer, with 503."""
    port = settle_ports([PortWish("program", "P", 0)])["P"]
    return Program(
        "voice",
        (sys.executable, "-c", ANSWERS, str(port), body),
        environment(),
        ready_url=f"http://{LOOPBACK}:{port}/ready",
    )


async def test_an_engine_that_failed_ends_the_wait_with_its_reason() -> None:
    body = '{"status":"failed","roles":{"stt":"loading","tts":"failed: config.json missing"}}'
    async with ProcessGroup(Silent(), stop_timeout_s=10) as group:
        await group.start(answering(body))
        with pytest.raises(StackError, match=r"cannot be used: config\.json missing") as raised:
            await wait_until_ready(group, timeout_s=3600)
    assert "logs/voice.log" in raised.value.fix


@pytest.mark.parametrize("body", ['{"status":"loading","roles":{"tts":"loading"}}', "busy", "{}"])
async def test_what_is_waited_for_is_said_now_and_then(body: str) -> None:
    said: list[str] = []
    async with ProcessGroup(Silent(), stop_timeout_s=10) as group:
        await group.start(answering(body))
        with pytest.raises(StackError, match="not ready after 1 s: voice"):
            await wait_until_ready(group, timeout_s=1, tell=said.append, progress_s=0.01)
    assert said[0].startswith("Waiting for voice (")


async def test_a_short_wait_says_nothing() -> None:
    said: list[str] = []
    async with ProcessGroup(Silent(), stop_timeout_s=10) as group:
        await group.start(answering("busy"))
        with pytest.raises(StackError, match=r"PARLEY_READY_TIMEOUT_S=0\.2"):
            await wait_until_ready(group, timeout_s=0.1, tell=said.append)
    assert not said
