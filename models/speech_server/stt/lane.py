"""A queue that is fair between streams: each in turn, the work of one in order."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from typing import Generic, Protocol, TypeVar


class OfStream(Protocol):
    """Work that belongs to a stream."""

    @property
    def stream(self) -> Hashable:
        """Whose it is."""
        ...


T = TypeVar("T", bound=OfStream)


class Lane(Generic[T]):
    """Waiting work of one priority."""

    def __init__(self) -> None:
        self._streams: OrderedDict[Hashable, deque[T]] = OrderedDict()

    def put(self, job: T) -> None:
        """Add it behind the other work of its stream."""
        self._streams.setdefault(job.stream, deque()).append(job)

    def peek(self) -> T | None:
        """What `pop` would return."""
        return next(iter(self._streams.values()))[0] if self._streams else None

    def pop(self) -> T | None:
        """Take the next; its stream then comes after all others."""
        if not self._streams:
            return None
        stream, jobs = self._streams.popitem(last=False)
        job = jobs.popleft()
        if jobs:
            self._streams[stream] = jobs
        return job

    def remove(self, job: T) -> None:
        """Take this one out, if it is there."""
        jobs = self._streams.get(job.stream)
        if jobs is not None and job in jobs:
            jobs.remove(job)
            if not jobs:
                del self._streams[job.stream]

    def take_stream(self, stream: Hashable) -> Sequence[T]:
        """Take out all work of a stream."""
        return self._streams.pop(stream, ())
