"""vLLM's launcher as a process, with a package of that name that only waits."""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from language_server.vllm.command import LAUNCHER

WAITS = "import time\ndef main():\n    print('up', flush=True)\n    time.sleep(600)\n"
PARENT = """
import subprocess, sys, time
print(subprocess.Popen([sys.executable, sys.argv[1]]).pid, flush=True)
time.sleep(600)
"""


def pretend_vllm(folder: Path) -> dict[str, str]:
    """The environment in which it is found."""
    package = folder / "vllm" / "entrypoints" / "cli"
    package.mkdir(parents=True)
    (package / "main.py").write_text(WAITS)
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
async def test_vllm_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(LAUNCHER),
        env=pretend_vllm(tmp_path), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(60):
        child = psutil.Process(int(await process.stdout.readline()))
        assert await process.stdout.readline() == b"up\n"
    process.kill()
    await process.wait()
    _, alive = await asyncio.to_thread(psutil.wait_procs, [child], 20)
    assert alive == []
