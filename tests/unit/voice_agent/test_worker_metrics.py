import os
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from voice_agent.worker_metrics import MetricsFiles, MetricsPage

JOB = """
from prometheus_client import Counter, Histogram
Counter("agent_turns_total", "x").inc(2)
Histogram("agent_stage_seconds", "x", ("stage",), buckets=(0.2, 0.4)).labels("llm").observe(0.35)
"""


def run_job(folder: Path) -> None:
    """A job process that measures one turn and ends."""
    subprocess.run(
        [sys.executable, "-c", JOB],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)},
        check=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def two_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("metrics")
    run_job(folder)
    run_job(folder)
    return folder


def figures(page: bytes) -> set[str]:
    return {line for line in page.decode().splitlines() if line.startswith("agent_")}


def test_folding_keeps_every_figure_and_few_files(two_jobs: Path) -> None:
    files = MetricsFiles(two_jobs)
    before = figures(files.page())
    assert "agent_turns_total 4.0" in before
    assert 'agent_stage_seconds_bucket{le="0.4",stage="llm"} 2.0' in before
    assert files.fold() == 4
    assert figures(files.page()) == before
    assert sorted(path.name for path in two_jobs.iterdir()) == ["counter_0.db", "histogram_0.db"]
    assert files.fold() == 0
    assert figures(files.page()) == before


def test_files_of_a_process_at_work_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / f"gauge_livesum_{os.getpid()}.db"
    strange = tmp_path / "notes_by_hand.db"
    mine.touch()
    strange.touch()
    assert MetricsFiles(tmp_path).fold() == 0
    assert mine.exists()
    assert strange.exists()


async def test_the_page_has_the_workers_own_load(tmp_path: Path, unused_tcp_port: int) -> None:
    page = MetricsPage(tmp_path, "127.0.0.1", unused_tcp_port)
    await page.open()
    try:
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"http://127.0.0.1:{unused_tcp_port}/metrics") as response,
        ):
            text = await response.text()
    finally:
        await page.close()
    assert response.status == 200
    assert "# HELP lk_agents_worker_load" in text
