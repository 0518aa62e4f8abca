"""
One informer per kind, shared by all components of a program.

Follows: client-go informers/factory.go and generic.go @32ce75a7d. Differs: a kind is its Python type, so that
one factory serves typed and later untyped kinds alike; shutdown itself ends the informers.
"""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.informer_options import DEFAULT_OPTIONS, InformerOptions
from handloop.informers.lister import Cache, Lister, MergedCache
from handloop.informers.listwatch import ListWatch, Resources
from handloop.informers.progress import SyncProgress
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.informers.sync import wait_for_cache_sync
from handloop.seams.locks import new_lock
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, join_all

T = TypeVar("T", bound=Kind)

# under the informer's _started_lock (10): the factory's lock is held while informers are made and stopped
_FACTORY_RANK: Final = 5


class ResourceSource(Protocol):
    """The part of `Client` that a factory needs."""

    def resource(self, kind: type[T]) -> Resources[T]:
        """The collection of a kind."""


class SharedInformerFactory:
    """
    Makes, starts and stops informers.

    State, guarded by _lock (5):
        _informers    kind -> its informer, one each.
        _threads      kind -> the thread of an informer that was started.
        _shutting_down    never goes back to false; nothing starts after it.
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
        Make a factory; nothing is asked of the server before start.

        Args: namespace "" = all. options are those of every informer.
        """
        self._client = client
        self._namespace = namespace
        self._options = options
        self._clock = seams.clock
        self._seams = seams
        self._lock = new_lock("SharedInformerFactory._lock", _FACTORY_RANK)
        self._informers: dict[type[Kind], SharedIndexInformer[Any]] = {}
        self._threads: dict[type[Kind], Joinable] = {}
        self._shutting_down = False

    def __repr__(self) -> str:
        with self._lock:
            kinds = ", ".join(str(kind.resource) for kind in self._informers)
            state = "shut down" if self._shutting_down else f"{len(self._threads)} started"
        return f"<SharedInformerFactory of {kinds or 'nothing'}: {state}>"

    def informer_for(self, kind: type[T]) -> SharedIndexInformer[T]:
        """
        The informer of a kind, made on the first request.

        It is empty until start is called after that, also when start was called before: a transform, for one,
        has to be there first.

        Raises: ValueError for a second type of one kind, which would be a second watch and a second cache.
        """
        with self._lock:
            informer = self._informers.get(kind)
            if informer is None:
                self._refuse_second_view_locked(kind)
                informer = self._informers[kind] = self._new_informer(kind)
            return informer

    def _refuse_second_view_locked(self, kind: type[Kind]) -> None:
        for known in self._informers:
            if known.resource.gvk == kind.resource.gvk:
                raise ValueError(
                    f"{kind.resource} has an informer of {known.__module__}.{known.__name__} already: "
                    f"use that type, or {kind.__module__}.{kind.__name__} everywhere"
                )

    def lister_for(self, kind: type[T]) -> Lister[T]:
        """Reads the cache of a kind; empty until it has synced. It answers for our namespace alone."""
        indexer: Cache[T] = self.informer_for(kind).indexer
        if self._namespace and kind.resource.namespaced:
            indexer = MergedCache({self._namespace: indexer}, kind.resource)
        return Lister(indexer, kind.resource)

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """The informers made so far, in the order of the first requests."""
        with self._lock:
            return list(self._informers.values())

    def start(self, stop: threading.Event) -> None:
        """
        Start the informers that do not run yet, each in its own thread; does not wait.

        They end when stop is set, within a second, or at shutdown, at once.
        """
        with self._lock:
            if self._shutting_down:
                return
            for kind, informer in self._informers.items():
                if kind not in self._threads:
                    name = f"informer-{kind.resource.plural}"
                    self._threads[kind] = self._seams.spawn(name, partial(informer.run, stop))

    def shutdown(self, seconds: float = math.inf) -> list[type[Kind]]:
        """
        Stop all informers, for good.

        Returns: the kinds whose informers have not ended in that time.
        Blocks: until then; handler calls that are running return first.
        """
        with self._lock:
            self._shutting_down = True
            threads = dict(self._threads)
            informers = [self._informers[kind] for kind in threads]
        for informer in informers:
            informer.stop()
        return join_all(threads, seconds, self._clock)

    def wait_for_cache_sync(self, stop: threading.Event) -> dict[type[Kind], bool]:
        """
        Wait until every started informer has synced, with a progress line now and then.

        Returns: kind -> whether it has; some are False only if stop was set first.
        Blocks: until then.
        """
        with self._lock:
            started = {kind: self._informers[kind] for kind in self._threads}
        progress = SyncProgress(
            list(started.values()), interval_seconds=self._options.progress_seconds, clock=self._clock
        )
        wait_for_cache_sync(
            stop,
            *(informer.has_synced for informer in started.values()),
            clock=self._clock,
            progress=progress,
        )
        return {kind: informer.has_synced() for kind, informer in started.items()}

    def _new_informer(self, kind: type[T]) -> SharedIndexInformer[T]:
        namespace = self._namespace if kind.resource.namespaced else ""
        return SharedIndexInformer(
            ListWatch(self._client.resource(kind), namespace, tweak=self._options.tweak),
            kind,
            namespace=namespace,
            indexers={NAMESPACE_INDEX: namespace_index_func},
            options=self._options,
            seams=self._seams,
        )
