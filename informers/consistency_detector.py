"""
Compares a streamed list with the same list asked for at once: for tests of servers, off by default.

Follows: client-go util/consistencydetector @32ce75a7d, differs: a difference ends the round instead of the
process, so nothing of such a list is ever published; a version that the server has forgotten is not checked.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from handloop.apis.meta import Object
from handloop.client.decoding.pages import ListPage
from handloop.client.errors import is_expired
from handloop.client.options import ListOptions
from handloop.informers.initial_list import unchanged
from handloop.informers.keys import CacheError, meta_namespace_key_func
from handloop.workqueue.seams import Clock
from handloop.workqueue.stdlib_logs import get_logger

log = get_logger("informers")

T = TypeVar("T", bound=Object)

ENVIRONMENT_VARIABLE: Final = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"
EXACT: Final = "Exact"
RETRY_SECONDS: Final = 1.0
_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))


class DataInconsistent(CacheError):  # noqa: N818 - what it is
    """A stream and a list show different objects at one resource version."""

    def __init__(self, name: str, keys: list[str]) -> None:
        super().__init__(f"data inconsistency detected for {name}: {', '.join(keys)}")


def is_consistency_detection_on(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for it."""
    return environ.get(ENVIRONMENT_VARIABLE, "") in _TRUE


class ConsistencyDetector(Generic[T]):
    """Costs a list of everything after each streamed list. Threads: the reflector's."""

    def __init__(
        self,
        name: str,
        fetch: Callable[[ListOptions], ListPage[T]],
        *,
        transform: Callable[[T], T] = unchanged,
        stopped: threading.Event,
        clock: Clock,
    ) -> None:
        """Args: fetch asks the server for a list. transform made the objects that check() gets."""
        self._name = name
        self._fetch = fetch
        self._transform = transform
        self._stopped = stopped
        self._clock = clock

    def check(self, items: list[T], resource_version: str) -> None:
        """
        Compare the streamed objects with the server's list at that resource version.

        Raises: DataInconsistent.
        Blocks: until the server answers, or stopped is set.
        """
        if resource_version in ("", "0"):
            log.debug("Data consistency check is skipped: no version to ask for", v=4, reflector=self._name)
            return
        log.warning("Data consistency check is on: it lists everything once more", reflector=self._name)
        page = self._list(ListOptions(resource_version=resource_version, resource_version_match=EXACT))
        if page is None:
            return
        listed = [self._transform(obj) for obj in page.items]
        differing = _differing(_by_key(items), _by_key(listed))
        if differing:
            raise DataInconsistent(self._name, differing)

    def _list(self, options: ListOptions) -> ListPage[T] | None:
        """The list; None when the server has forgotten the version, or stopped is set."""
        while not self._stopped.is_set():
            try:
                return self._fetch(options)
            except Exception as error:  # noqa: BLE001 - whatever it is, the list may come the next time
                log.warning(
                    "Failed to list for the data consistency check", reflector=self._name, err=str(error)
                )
                if is_expired(error):
                    return None
            self._clock.sleep(RETRY_SECONDS, self._stopped)
        return None


def _by_key(items: list[T]) -> dict[str, T]:
    return {meta_namespace_key_func(item): item for item in items}


def _differing(streamed: Mapping[str, T], listed: Mapping[str, T]) -> list[str]:
    """The keys whose objects differ, or that one side lacks."""
    keys = streamed.keys() | listed.keys()
    return sorted(key for key in keys if streamed.get(key) != listed.get(key))
