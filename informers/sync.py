"""
Waiting until caches are filled, and saying which are not.

Follows: client-go tools/cache/shared_informer.go and wait.go @32ce75a7d. Differs: every wait polls the clock
ten times a second, as a thread cannot wait for two things at once; so a progress line can be written
meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

import structlog

from handloop.apis.meta import Kind
from handloop.workqueue.clock import REAL_CLOCK, Clock

log = structlog.get_logger("informers")

SYNC_POLL_SECONDS: Final = 0.1


class Progress(Protocol):
    """Told now and then that somebody still waits."""

    def tick(self) -> None:
        """Say something if it is time to."""

    def finished(self) -> None:
        """The wait is over."""


class DoneChecker(NamedTuple):
    """Something that will be done, by name."""

    name: str
    is_done: Callable[[], bool]


class CacheSyncError(Exception):
    """Some caches were not filled in time."""

    def __init__(self, unsynced: list[str], cause: str) -> None:
        super().__init__(f"failed to sync all caches: {', '.join(unsynced)}: {cause}")
        self.unsynced = unsynced
        self.cause = cause


class SyncResult(NamedTuple):
    """What a factory's wait ended with: kind -> whether its cache is filled."""

    synced: Mapping[type[Kind], bool]
    cause: str = ""

    def error(self) -> CacheSyncError | None:
        """None when all are filled; else the error that names the others, sorted."""
        unsynced = sorted(str(kind.resource) for kind, synced in self.synced.items() if not synced)
        return CacheSyncError(unsynced, self.cause) if unsynced else None


def wait_for_cache_sync(
    stop: threading.Event,
    *has_synced: Callable[[], bool],
    clock: Clock = REAL_CLOCK,
    progress: Progress | None = None,
) -> bool:
    """
    Wait until all are synced.

    Returns: False when stop was set first.
    Blocks: until then.
    """
    while not all(check() for check in has_synced):
        if progress is not None:
            progress.tick()
        if clock.sleep(SYNC_POLL_SECONDS, stop):
            return False
    if progress is not None:
        progress.finished()
    return True


def wait_for_named_cache_sync(
    name: str,
    stop: threading.Event,
    *has_synced: Callable[[], bool],
    clock: Clock = REAL_CLOCK,
    progress: Progress | None = None,
) -> bool:
    """As wait_for_cache_sync, with a line before and after for the controller called name."""
    log.info("Waiting for caches to sync", controller=name)
    synced = wait_for_cache_sync(stop, *has_synced, clock=clock, progress=progress)
    if synced:
        log.info("Caches are synced", controller=name)
    else:
        log.error("Unable to sync caches", controller=name)
    return synced


def wait_for(stop: threading.Event, what: str, *checkers: DoneChecker, clock: Clock = REAL_CLOCK) -> bool:
    """
    Wait until all are done, and log which one is waited for.

    Args: what = what for, in the log; "" logs nothing.
    Returns: False when stop was set first; what was done by then counts as done.
    Blocks: until then.
    """
    unfinished = []
    for checker in checkers:
        if checker.is_done():
            continue
        if what:
            log.info("Waiting", forWhat=what, name=checker.name)
        if not _wait_for_one(stop, checker, clock):
            unfinished.append(checker.name)
        elif what:
            log.info("Done waiting", forWhat=what, name=checker.name)
    if unfinished and what:
        log.info("Timed out waiting", forWhat=what, names=sorted(unfinished))
    return not unfinished


def _wait_for_one(stop: threading.Event, checker: DoneChecker, clock: Clock) -> bool:
    while not stop.is_set():
        if checker.is_done():
            return True
        clock.sleep(SYNC_POLL_SECONDS, stop)
    return checker.is_done()
