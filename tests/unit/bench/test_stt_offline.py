import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bench.stt.offline import decode_offline
from bench.stt.recordings import Recording


class _Counter(BaseHTTPRequestHandler):
    """Answers with the number of bytes it was given."""

    def do_POST(self) -> None:
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        alternatives = [{"transcript": f"{size} bytes"}]
        self.send_response(200)
        self.end_headers()
        answer = {"results": {"channels": [{"alternatives": alternatives}]}}
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Counter) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_each_recording_is_decoded_whole_and_embedded_in_quiet(server: str) -> None:
    recordings = [Recording(f"{n}", "", (b"\0" * 640,) * n) for n in (1, 3)]
    # with half a second of quiet on both sides
    assert decode_offline(server, recordings) == {"1": "32640 bytes", "3": "33920 bytes"}
