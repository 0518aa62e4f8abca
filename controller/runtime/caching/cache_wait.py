"""
Wait until caches are filled.

When a runnable or a reconcile first reads a cache, it waits until the cache is filled. Handlers are an
exception: they do not wait, and read the objects that have arrived so far.
Decision: A cache that is not filled is not read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final, Protocol

from handloop.controller.runtime.reconcile import CacheNotFilledError, DeadlineExceededError, ReconcileError
from handloop.informers.selection import Selection
from handloop.informers.sync import poll_seconds
from handloop.seams.clock import REAL_CLOCK, Clock

Troubles = Callable[[], Sequence[str]]
"""Returns the reasons, in words, why the caches are not filled yet; an empty list once they are filled."""

READER: Final[ContextVar[str]] = ContextVar("READER", default="")
"""
Tells who reads a cache that is not filled. A "runnable" waits. A "reconcile" also waits, but not while the
first list fails, because other names need the worker. All others, such as handlers, get what has arrived so
far.
"""


class CacheSyncTimeoutError(ReconcileError):
    """The caches were not filled within the timeout. troubles lists the kinds and their last errors."""

    def __init__(self, waiting: str, seconds: float, troubles: Sequence[str]) -> None:
        text = "; ".join(troubles)
        super().__init__(f"{waiting}: timed out after {seconds:g}s waiting for caches to sync: {text}")
        self.troubles = tuple(troubles)


def wait_for_caches(
    waiting: str,
    troubles: Troubles,
    stop: threading.Event,
    *,
    timeout_seconds: float,
    clock: Clock = REAL_CLOCK,
) -> bool:
    """
    Wait until troubles returns an empty list.

    Args: waiting names the waiting component in the error; timeout_seconds may be infinite.
    Returns: False if stop was set first.
    Raises: CacheSyncTimeoutError after timeout_seconds.
    Blocks: until the caches are filled, the time is up, or stop is set.
    """
    began_at = clock.now()
    while left := troubles():
        waited = clock.now() - began_at
        if waited >= timeout_seconds:
            raise CacheSyncTimeoutError(waiting, timeout_seconds, left)
        if clock.sleep(poll_seconds(waited), stop):
            return False
    return not stop.is_set()


class Filling(Protocol):
    """A cache whose readers may have to wait: a MultiNamespaceInformer, or an ObjectWatch."""

    kind: type[Any]
    selection: Selection
    has_ended: bool

    def has_synced(self, namespace: str = "", /) -> bool:
        """Return whether the cache's first list has arrived."""

    def is_failing(self, namespace: str = "", /) -> bool:
        """Return whether the first list has failed and is being retried."""

    def troubles(self, namespace: str = "", /) -> list[str]:
        """Return the reasons why the first list has not arrived, as texts."""


class FirstReads:
    """
    Makes the first reads of a cache wait until it is filled, while the process runs.

    State: _stop, the process's stop event, or None before begin. Threads: usable from any thread.
    """

    def __init__(self, *, timeout_seconds: float, clock: Clock) -> None:
        """Args: timeout_seconds is the longest time that a read waits; it may be infinite."""
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._stop: threading.Event | None = None

    def begin(self, stop: threading.Event) -> None:
        """Make reads wait from now on, until stop is set."""
        self._stop = stop

    def before_read(self, informer: Filling, namespace: str) -> None:
        """Wait if the caller is a runnable or a reconcile. Raises and blocks like wait_for."""
        if READER.get():
            self.wait_for(informer, namespace)

    def wait_for(self, informer: Filling, namespace: str = "") -> None:
        """
        Wait until the informers of a namespace ("" = all) are filled.

        Raises: CacheSyncTimeoutError after the timeout; CacheNotFilledError if the informers have ended;
        DeadlineExceededError if the process stops. In a reconcile, CacheNotFilledError is raised as soon as a
        list fails or the process stops.
        Blocks: until the informers are filled.
        """
        stop = self._stop
        if stop is None or informer.has_synced(namespace):
            return
        plural = informer.kind.resource.plural + informer.selection.suffix

        def troubles() -> Sequence[str]:
            if informer.has_ended:
                raise CacheNotFilledError(f"the cache of {plural} has been stopped")
            left = informer.troubles(namespace)
            if READER.get() == "reconcile" and informer.is_failing(namespace):
                raise CacheNotFilledError(f"the cache of {plural} is not filled: {'; '.join(left)}")
            return left

        # A namespace may appear between the end of the wait and the next check.
        while not informer.has_synced(namespace):
            if not wait_for_caches(
                f"informer of {plural}",
                troubles,
                stop,
                timeout_seconds=self._timeout_seconds,
                clock=self._clock,
            ):
                why = f"stopping: the cache of {plural} is not filled"
                # A reconcile that ends because of a stop is not a failure.
                raise CacheNotFilledError(why) if READER.get() == "reconcile" else DeadlineExceededError(why)
