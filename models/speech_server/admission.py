"""Admission: a fixed number of streams at once; the next one is refused at once, never queued."""

from collections.abc import Iterator
from contextlib import contextmanager

from speech_server.errors import Overloaded, ShuttingDown
from speech_server.metrics import STREAMS_ACTIVE, STREAMS_CAPACITY, STREAMS_REFUSED


class Admission:
    """Counts the streams of one role against its capacity."""

    def __init__(self, service: str, capacity: int) -> None:
        self._service = service
        self._capacity = capacity
        self._active = 0
        self._draining = False
        STREAMS_CAPACITY.labels(service).set(capacity)
        STREAMS_ACTIVE.labels(service).set(0)

    @property
    def active(self) -> int:
        """Streams running now."""
        return self._active

    def drain(self) -> None:
        """Refuse every new stream from now on; running ones end by themselves."""
        self._draining = True

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Hold one place for the length of a stream.

        Raises:
            Overloaded: all places are taken.
            ShuttingDown: the server drains.
        """
        if self._draining:
            raise ShuttingDown("this server is shutting down; connect to another one")
        if self._active >= self._capacity:
            STREAMS_REFUSED.labels(self._service).inc()
            raise Overloaded(
                f"{self._service}: all {self._capacity} streams are in use; try again shortly"
            )
        self._active += 1
        STREAMS_ACTIVE.labels(self._service).set(self._active)
        try:
            yield
        finally:
            self._active -= 1
            STREAMS_ACTIVE.labels(self._service).set(self._active)
