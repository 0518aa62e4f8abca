"""
A reflector's source, which can list and watch one kind, and its open stream.

The informers define the source as a Protocol, so that a test or a replay can replace the server.
Follows: client-go tools/cache/listwatch.go @32ce75a7d.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from handloop.apis.without import Abridged
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.options import ListOptions
from handloop.informers.selection import EVERYTHING, Selection
from handloop.seams.locks import new_lock
from handloop.seams.seams import REAL_SEAMS, Seams

T = TypeVar("T")

NOT_OLDER_THAN: Final = "NotOlderThan"
WATCH_TIMEOUT_SECONDS: Final = 300.0

Tweak: TypeAlias = Callable[[ListOptions], ListOptions]
"""Changes the options of every list and watch, for example by adding a selector. It must be pure."""


class Watch(Protocol[T]):
    """An open stream of events."""

    def read(self) -> list[WatchEvent[T]]:
        """
        Return the next events, at least one, or [] if the server ended the stream normally.

        Blocks: until data arrives or close() is called.
        Raises: TransportError if the connection fails; DecodeError if a block of events is unreadable. No
        event of an unreadable block is returned.
        """

    def close(self) -> None:
        """End the stream. Any thread can call this, repeatedly. A blocked read ends immediately."""


class ListerWatcher(Protocol[T]):
    """Lists and watches all or some of one kind's objects on a server."""

    @property
    def supports_watch_list(self) -> bool:
        """Return whether a watch can begin with the existing objects (sendInitialEvents)."""

    def list(self, options: ListOptions) -> ListPage[T]:
        """
        Return one page.

        Raises: APIError if the server refuses; TransportError if the connection fails; DecodeError if the
        response is unreadable.
        """

    def watch(self, options: ListOptions) -> Watch[T]:
        """
        Open a stream.

        Raises: APIError if the server refuses; TransportError if the connection fails.
        """


class Resources(Protocol[T]):
    """The part of `ResourceClient` that reads collections."""

    def list(self, namespace: str = "", *, options: ListOptions) -> ListPage[T]:
        """Return one page for a namespace or for all namespaces."""

    def watch(self, namespace: str = "", *, options: ListOptions) -> Watch[T]:
        """Return a stream for a namespace or for all namespaces."""


class ListWatch(Generic[T]):
    """
    Lists and watches the objects of one kind in a namespace and a selection. tweak can change each request.

    Args: namespace is empty for all namespaces, or for a cluster-scoped kind. If supports_watch_list is
    False, a streaming list is never requested; if it is True, the server may still refuse one. abridged says
    how to decode most objects only in part; if it is None, all objects are decoded whole.
    """

    def __init__(
        self,
        resources: Resources[T],
        namespace: str = "",
        *,
        selection: Selection = EVERYTHING,
        tweak: Tweak | None = None,
        abridged: Abridged[Any] | None = None,
        supports_watch_list: bool = True,
    ) -> None:
        self._resources = resources
        self._namespace = namespace
        self._selection = selection
        self._tweak = tweak
        self._abridged = abridged
        self.supports_watch_list = supports_watch_list

    def list(self, options: ListOptions) -> ListPage[T]:
        """Return one page; see ListerWatcher."""
        return self._resources.list(self._namespace, options=self._tweaked(options))

    def watch(self, options: ListOptions) -> Watch[T]:
        """Open a stream; see ListerWatcher."""
        return self._resources.watch(self._namespace, options=self._tweaked(options))

    def _tweaked(self, options: ListOptions) -> ListOptions:
        if self._abridged is not None:
            options = msgspec.structs.replace(options, abridged=self._abridged)
        options = options if self._tweak is None else self._tweak(options)
        return self._selection.narrowed(options) if self._selection else options


class OpenResponse(Generic[T]):
    """
    A reflector's stream. At most one is open at a time.

    A thread that is blocked in a read cannot notice that stopped was set, so stop closes the response during
    the read.

    State: _watch, guarded by _lock (15). opened_at is when the stream was requested, as a value returned by
    Clock.now().
    Threads: runs on the reflector's thread; any thread can call stop.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        *,
        stopped: threading.Event,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self._lister_watcher = lister_watcher
        self._stopped = stopped
        self._clock = seams.clock
        self._random = seams.random
        self._lock = new_lock("OpenResponse._lock", 15)
        self._watch: Watch[T] | None = None
        self.opened_at = 0.0

    def open(self, resource_version: str, *, send_initial_events: bool = False) -> None:
        """
        Request a stream from a resource version, or a streaming list that is not older than that version.

        The request asks the server to end the stream after a random time of 5 to 10 minutes.
        Raises: any error from the request. In that case, no stream is open.
        """
        options = ListOptions(
            resource_version=resource_version or None,
            resource_version_match=NOT_OLDER_THAN if send_initial_events else "",
            allow_watch_bookmarks=True,
            send_initial_events=send_initial_events,
            timeout_seconds=int(WATCH_TIMEOUT_SECONDS * (1 + self._random())),
        )
        opened_at = self._clock.now()
        watch = self._lister_watcher.watch(options)
        with self._lock:
            assert self._watch is None
            self._watch = watch
        self.opened_at = opened_at
        if self._stopped.is_set():
            watch.close()  # stop() may have been called before the stream was open

    def read(self) -> list[WatchEvent[T]]:
        """
        Return the next events of the open stream, or [] at its end.

        Blocks: until events arrive or stop() is called.
        Raises: the same errors as Watch.read.
        """
        watch = self._watch  # only this thread replaces it
        assert watch is not None
        return watch.read()

    def seconds_open(self) -> float:
        """Return how long ago the stream was requested."""
        return self._clock.now() - self.opened_at

    def current(self) -> Watch[T] | None:
        """Return the open stream, for a thread that may have to close it while it is being read."""
        with self._lock:
            return self._watch

    def close(self) -> None:
        """Close the stream, if any, and forget it."""
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def stop(self) -> None:
        """Close the stream even while it is being read. Any thread can call this after it has set stopped."""
        watch = self.current()
        if watch is not None:
            watch.close()
