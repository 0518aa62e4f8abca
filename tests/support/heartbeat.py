"""Whether somebody acts: how long each of many Foos waits for its Deployment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from support.cluster import Cluster
from support.deadline import until

PERIOD_SECONDS: Final = 0.5
"""By so much a gap may be longer than the longest that somebody had to wait."""


class Heartbeat:
    """
    Creates a Foo in every period and notes when its Deployment was first seen.

    State: _asked and _served, by name, in seconds of the monotonic clock, under _lock. Threads: one creates,
    one looks; both end with the context.
    """

    def __init__(self, cluster: Cluster, name: str, *, period_seconds: float = PERIOD_SECONDS) -> None:
        self._cluster = cluster
        self._name = name
        self._period_seconds = period_seconds
        self._lock = threading.Lock()
        self._asked: dict[str, float] = {}
        self._served: dict[str, float] = {}
        self._stop = threading.Event()

    def waiting(self) -> set[str]:
        """The Foos that have no Deployment yet."""
        with self._lock:
            return self._asked.keys() - self._served.keys()

    def served(self) -> int:
        """How many Foos have their Deployment."""
        with self._lock:
            return len(self._served)

    def wait_served(self, count: int, *, seconds: float) -> None:
        """Until so many more than now have been served. Raises: AssertionError at the deadline."""
        wanted = self.served() + count
        until(lambda: self.served() >= wanted, f"{wanted} served", seconds=seconds)

    def longest_gap(self) -> float:
        """The longest that a Foo had to wait, in seconds; those without a Deployment wait still."""
        now = time.monotonic()
        with self._lock:
            return max(self._served.get(name, now) - at for name, at in self._asked.items())

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat for as long as the context lasts, then take the Foos away."""
        threads = [
            threading.Thread(target=run, name=f"heartbeat-{run.__name__}") for run in (self._ask, self._look)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            self._cluster.call("DELETE", self._cluster.foos)

    def _ask(self) -> None:
        number = 0
        while not self._stop.wait(self._period_seconds):
            number += 1
            name = f"{self._name}-{number}"
            with self._lock:
                self._asked[name] = time.monotonic()
            self._cluster.create_foo(name)

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            found = self._cluster.list(self._cluster.deployments)
            now = time.monotonic()
            with self._lock:
                for name in self._asked.keys() & found.keys() - self._served.keys():
                    self._served[name] = now
