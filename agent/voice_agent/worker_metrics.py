"""The worker's Prometheus page: its own gauges, and those of every call past and present.

Each call is a process that writes its metrics to files of its own, and LiveKit's page reads them
all. It never lets go of those of ended calls, so that after some thousand calls each scrape reads
some thousand files; and it leaves out the worker's own gauges. This page folds the files of ended
processes into one per type.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

logger = logging.getLogger(__name__)

FOLD_INTERVAL_S = 60.0
"""Time between two foldings; a busy worker leaves some ten files behind in it."""

FOLDED_PID = 0
"""Stands for all ended processes in a file's name; no process has it."""

OWN_GAUGES = frozenset({"lk_agents_worker_load", "lk_agents_child_process_count"})
"""Gauges that the worker process itself keeps."""


class MetricsFiles:
    """The folder in which job processes leave their metrics."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # folding moves figures between files: no page may be made meanwhile
        self._lock = threading.Lock()

    def page(self) -> bytes:
        """The whole page in Prometheus's text format."""
        registry = CollectorRegistry(auto_describe=True)
        registry.register(_OwnGauges())
        with self._lock:
            MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
            return generate_latest(registry)

    def fold(self) -> int:
        """Fold the files of processes that have ended; returns how many files went."""
        folded = 0
        with self._lock:
            for path in sorted(self._folder.glob("*_*.db")):
                kind, _, pid = path.stem.rpartition("_")
                if not pid.isdecimal() or int(pid) == FOLDED_PID or _is_alive(int(pid)):
                    continue
                if kind in {"counter", "histogram"}:
                    self._add(path, self._folder / f"{kind}_{FOLDED_PID}.db")
                path.unlink()
                folded += 1
        return folded

    @staticmethod
    def _add(source: Path, target: Path) -> None:
        with closing(MmapedDict(str(target))) as total:  # type: ignore[no-untyped-call]
            for key, value, timestamp, _ in MmapedDict.read_all_values_from_file(str(source)):  # type: ignore[no-untyped-call]
                total.write_value(key, total.read_value(key)[0] + value, timestamp)  # type: ignore[no-untyped-call]


class MetricsPage:
    """Serves `GET /metrics` and keeps the folder small."""

    def __init__(self, folder: Path, host: str, port: int) -> None:
        self._files = MetricsFiles(folder)
        self._host, self._port = host, port
        self._runner: web.AppRunner | None = None
        self._folding: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        application = web.Application()
        application.router.add_get("/metrics", self._get)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._folding = asyncio.create_task(self._fold_regularly())
        logger.info("metrics page open", extra={"host": self._host, "port": self._port})

    async def close(self) -> None:
        """Stop listening."""
        if self._folding is not None:
            self._folding.cancel()
            with suppress(asyncio.CancelledError):
                await self._folding
        if self._runner is not None:
            await self._runner.cleanup()

    async def _get(self, _: web.Request) -> web.Response:
        body = await asyncio.to_thread(self._files.page)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _fold_regularly(self) -> None:
        while True:
            await asyncio.sleep(FOLD_INTERVAL_S)
            try:
                await asyncio.to_thread(self._files.fold)
            except (OSError, RuntimeError) as error:
                logger.warning("metrics files not folded", extra={"reason": str(error)})


class _OwnGauges(Collector):
    def collect(self) -> Iterator[Metric]:
        return (metric for metric in REGISTRY.collect() if metric.name in OWN_GAUGES)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
