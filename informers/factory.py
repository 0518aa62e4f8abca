"""
One informer per kind and selection, shared by all components of a program.

Follows: client-go informers/factory.go and generic.go @32ce75a7d. Differs: a kind is its Python type, so one
factory serves typed and untyped kinds; shutdown stops the informers.
"""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import PartialObjectMetadata
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.informer_options import DEFAULT_OPTIONS, InformerOptions
from handloop.informers.lister import Lister, MergedCache
from handloop.informers.listwatch import ListWatch, Resources
from handloop.informers.progress import SyncProgress
from handloop.informers.selection import Labels, Selection, selection_of
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.informers.sync import wait_for_cache_sync
from handloop.seams.locks import new_lock
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, join_all

T = TypeVar("T", bound=Kind)
_Part: TypeAlias = tuple[type[Kind], Selection]

# Below the rank of the informer's _started_lock (10), which is acquired while this lock is held.
_FACTORY_RANK: Final = 5


class ResourceSource(Protocol):
    """The part of `Client` that a factory needs."""

    def resource(self, kind: type[T]) -> Resources[T]:
        """Return the client for a kind's objects."""


class SharedInformerFactory:
    """
    Creates, starts and stops informers.

    State, guarded by _lock (5):
        _informers    (kind, selection) -> its only informer.
        _threads      (kind, selection) -> the thread of its informer, if it was started.
        _shutting_down    whether shutdown was called; never reset. No informer starts after that.
    """

    def __init__(
        self,
        client: ResourceSource,
        *,
        namespace: str = "",
        options: InformerOptions = DEFAULT_OPTIONS,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create a factory. Until start, it sends no requests to the server.

        Args: an empty namespace means all namespaces. options apply to every informer.
        """
        self._client = client
        self._namespace = namespace
        self._options = options
        self._clock = seams.clock
        self._seams = seams
        self._lock = new_lock("SharedInformerFactory._lock", _FACTORY_RANK)
        self._informers: dict[_Part, SharedIndexInformer[Any]] = {}
        self._threads: dict[_Part, Joinable] = {}
        self._shutting_down = False

    def __repr__(self) -> str:
        with self._lock:
            kinds = ", ".join(f"{kind.resource}{part.suffix}" for kind, part in self._informers)
            state = "shut down" if self._shutting_down else f"{len(self._threads)} started"
        return f"<SharedInformerFactory of {kinds or 'nothing'}: {state}>"

    def informer_for(self, kind: type[T], *, labels: Labels = "", fields: str = "") -> SharedIndexInformer[T]:
        """
        Return the informer for a kind, or for a selection of its objects, created on the first request.

        A new informer stays empty until the next call of start, even if start was called before, so that,
        for example, handlers can be added first.

        Raises: ValueError if the kind has an informer with another type already, because two types would
        need two watches and two caches; any error from selection_of.
        """
        return self.informer_of(kind, selection_of(kind, labels=labels, fields=fields))

    def informer_of(self, kind: type[T], selection: Selection) -> SharedIndexInformer[T]:
        """Like informer_for, but takes a selection returned by selection_of."""
        with self._lock:
            informer = self._informers.get((kind, selection))
            if informer is None:
                self._refuse_second_view_locked(kind)
                informer = self._informers[kind, selection] = self._new_informer(kind, selection)
            return informer

    def _refuse_second_view_locked(self, kind: type[Kind]) -> None:
        for known, _ in self._informers:
            metadata = any(issubclass(each, PartialObjectMetadata) for each in (known, kind))
            if known is not kind and not metadata and known.resource.gvk == kind.resource.gvk:
                raise ValueError(
                    f"{kind.resource} has an informer of {known.__module__}.{known.__name__} already: "
                    f"use that type, or {kind.__module__}.{kind.__name__} everywhere"
                )

    def lister_for(self, kind: type[T], *, labels: Labels = "", fields: str = "") -> Lister[T]:
        """
        Return a lister of informer_for's cache, which is incomplete until the informer has synced.

        The lister covers the factory's namespace.
        """
        selection = selection_of(kind, labels=labels, fields=fields)
        indexer = self.informer_of(kind, selection).cache
        if self._namespace and kind.resource.namespaced:
            indexer = MergedCache({self._namespace: indexer}, kind.resource)
        return Lister(indexer, kind.resource, selection)

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Return the informers created so far, in the order in which they were first requested."""
        with self._lock:
            return list(self._informers.values())

    def start(self, stop: threading.Event) -> None:
        """
        Start the informers that are not running yet, each in its own thread, without waiting.

        They end within a second after stop is set, or immediately at shutdown.
        """
        with self._lock:
            if self._shutting_down:
                return
            for part, informer in self._informers.items():
                if part not in self._threads:
                    name = f"informer-{informer.kind.resource.plural}"
                    self._threads[part] = self._seams.spawn(name, partial(informer.run, stop))

    def shutdown(self, seconds: float = math.inf) -> list[type[Kind]]:
        """
        Stop all informers permanently.

        Returns: the kinds whose informers are still running after the given number of seconds.
        Blocks: until all informers and their running handler calls have ended, or until the time is over.
        """
        with self._lock:
            self._shutting_down = True
            threads = dict(self._threads)
            informers = [self._informers[part] for part in threads]
        for informer in informers:
            informer.stop()
        late = join_all(threads, seconds, self._clock)
        return list(dict.fromkeys(kind for kind, _ in late))

    def wait_for_cache_sync(self, stop: threading.Event) -> dict[type[Kind], bool]:
        """
        Wait until every started informer has synced, and log progress from time to time.

        Returns: a dict that maps each kind to whether all its informers have synced. A value is False only
        if stop was set first.
        Blocks: until all have synced, or stop is set.
        """
        with self._lock:
            started = [self._informers[part] for part in self._threads]
        progress = SyncProgress(started, interval_seconds=self._options.progress_seconds, clock=self._clock)
        wait_for_cache_sync(
            stop,
            *(informer.has_synced for informer in started),
            clock=self._clock,
            progress=progress,
        )
        synced: dict[type[Kind], bool] = {}
        for informer in started:
            synced[informer.kind] = informer.has_synced() and synced.get(informer.kind, True)
        return synced

    def _new_informer(self, kind: type[T], selection: Selection) -> SharedIndexInformer[T]:
        namespace = self._namespace if kind.resource.namespaced else ""
        options = self._options
        return SharedIndexInformer(
            ListWatch(
                self._client.resource(kind),
                namespace,
                selection=selection,
                tweak=options.tweak,
                abridged=options.abridged_of(kind),
            ),
            kind,
            namespace=namespace,
            selection=selection,
            indexers={NAMESPACE_INDEX: namespace_index_func},
            options=options,
            seams=self._seams,
        )
