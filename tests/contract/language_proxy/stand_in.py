"""Listens where vLLM would, as vLLM does, and answers everything with two words.

python stand_in.py launcher.py serve MODEL … --uds SOCKET …
"""

import socket
import sys

from aiohttp import web


async def chat(request: web.Request) -> web.Response:
    asked = await request.json()
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    message = {"role": "assistant", "content": f"Good day, {asked['model']}."}
    return web.json_response({"choices": [{"index": 0, "message": message}], "usage": usage})


async def nothing(request: web.Request) -> web.Response:
    return web.Response()


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    # Like vLLM: fails where a dead one has left its socket behind.
    listener.bind(sys.argv[sys.argv.index("--uds") + 1])
    app = web.Application()
    app.router.add_get("/health", nothing)
    app.router.add_get("/metrics", nothing)
    app.router.add_post("/v1/chat/completions", chat)
    web.run_app(app, sock=listener, print=None)


if __name__ == "__main__":
    main()
