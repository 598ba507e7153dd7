"""`python -m language_server` with a model in vLLM: what it says when that cannot be."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from tests.unit.language_server.vllm.model_folder import make_folder


async def ended(*arguments: str, **settings: str) -> tuple[int, str, list[str]]:
    """Exit status, what it wrote, and the last lines of what it complained of."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "language_server", *arguments,
        env={f"PARLEY_LANGUAGE_{name.upper()}": value for name, value in settings.items()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode().splitlines()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "PARLEY_LANGUAGE_ENGINE=vllm needs PARLEY_LANGUAGE_MODEL=DIR"),
        ({"model": "/no/such/model"}, "PARLEY_LANGUAGE_MODEL=/no/such/model: there is no such"),
        (
            {"upstreams": "http://a:8000"},
            "PARLEY_LANGUAGE_ENGINE=vllm needs PARLEY_LANGUAGE_MODEL=DIR",
        ),
        ({"profile": "h999"}, "PARLEY_LANGUAGE_PROFILE: Input should be"),
        ({"memory_share": "2"}, "PARLEY_LANGUAGE_MEMORY_SHARE: Input should be"),
    ],
)
async def test_a_setting_that_will_not_do_ends_in_one_clear_line(
    settings: dict[str, str], message: str
) -> None:
    status, _, complaints = await ended(engine="vllm", **settings)
    assert status == 2
    assert complaints[-1].startswith(f"language server: {message}")
    assert len(complaints) == 1


async def test_an_interpreter_without_vllm_is_told_with_the_remedy(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m")
    status, _, complaints = await ended(engine="vllm", model=str(folder), port="0")
    assert status == 1
    assert complaints[-1].startswith("language server: vllm-0: vLLM ended with exit status 1")
    assert "PARLEY_LANGUAGE_PYTHON" in complaints[-1]


async def test_a_port_that_is_taken_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, complaints = await ended(engine="vllm", model=str(folder), port=str(port))
    assert status != 0
    assert any("address already in use" in line for line in complaints)


async def test_explain_shows_profiles_and_a_model_of_one_s_own(tmp_path: Path) -> None:
    status, table, _ = await ended("--explain")
    assert status == 0
    assert "| `2xh100` |" in table
    folder = make_folder(tmp_path / "m")
    status, told, _ = await ended("--explain", model=str(folder), profile="l40s")
    assert status == 0
    assert "launcher.py serve" in told
