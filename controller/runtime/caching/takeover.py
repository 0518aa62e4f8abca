"""
Delay a new leader's work until its caches contain all earlier writes.

A process that becomes the leader, of all or part of the work, takes over from another process. Its own
watches may not have delivered that process's last writes yet, so it might create a second child or undo a
change. client-go and controller-runtime do not wait for those writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from handloop.client.errors import ClientError, Forbidden, NoKindMatch, NotFound
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.informers.sync import poll_seconds
from handloop.seams.clock import Clock
from handloop.seams.logs import get_logger

log = get_logger("controller")

PATIENCE_SECONDS: Final = 1.0
"""How long a large cache may lag behind the newest version at the takeover before it is listed again."""

SMALL: Final = 500
"""A cache with at most this many objects is listed again immediately, because they fit on one page."""

_WARN_SECONDS: Final = 60.0


class CatchUp:
    """
    Tracks an informer until its store contains everything that was written before a takeover.

    If a kind's objects do not change, its watch sends no events, and nothing shows whether the store is up to
    date. The informer therefore relists. A CatchUp is created at the takeover, and used by one thread.
    """

    def __init__(self, informer: SharedIndexInformer[Any], clock: Clock) -> None:
        self.informer = informer
        self._clock = clock
        self._newest = ""
        self._ask_at = self._began_at = clock.now()
        self._lists = self._is_done = False

    def is_done(self) -> bool:
        """
        Return whether the store is up to date. Return True, too, if the kind is forbidden or unknown.

        Blocks: for one request, on the first call and on calls after a failed request.
        """
        if not self._is_done and self._knows_version():
            self._is_done = self.informer.has_seen(self._newest)
            waited = self._clock.now() - self._began_at
            is_due = len(self.informer.indexer) <= SMALL or waited >= PATIENCE_SECONDS
            if not self._is_done and not self._lists and is_due and self.informer.has_synced():
                self._lists = True
                self.informer.list_newest()
        return self._is_done

    def _knows_version(self) -> bool:
        if self._newest or self._clock.now() < self._ask_at:
            return bool(self._newest)
        try:
            self._newest = self.informer.newest_resource_version()
        except (Forbidden, NotFound, NoKindMatch):
            self._is_done = True
        except ClientError:
            self._ask_at = self._clock.now() + PATIENCE_SECONDS
        self._began_at = self._clock.now()
        return bool(self._newest)


def catch_up(
    informers: Iterable[SharedIndexInformer[Any]],
    stop: threading.Event,
    *,
    clock: Clock,
    is_failing: Callable[[SharedIndexInformer[Any]], bool],
    has_ended: Callable[[SharedIndexInformer[Any]], bool] = lambda _informer: False,
) -> None:
    """
    Wait until all stores contain what was written before this call.

    Stores that have never been filled, because their first list keeps failing, are not waited for. Neither
    are the stores of informers that have ended, because a namespace has left.
    Blocks: until the stores are up to date, or until stop is set.
    """
    began_at = clock.now()
    warn_at: float | None = began_at + _WARN_SECONDS
    behind = [CatchUp(informer, clock) for informer in informers]
    while behind := [each for each in behind if not (has_ended(each.informer) or each.is_done())]:
        waits_for = [each.informer for each in behind]
        if all(not each.has_synced() and is_failing(each) for each in waits_for):
            return
        now = clock.now()
        if warn_at is not None and now >= warn_at:
            warn_at = None
            names = ", ".join(each.name for each in waits_for)
            log.warning("Waiting for caches to contain what the former leader wrote", caches=names)
        if clock.sleep(poll_seconds(now - began_at), stop):
            return
