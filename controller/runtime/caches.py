"""
The informers of a process, one per kind and namespace, and how far they are.

Follows: controller-runtime pkg/cache, differs: an informer is of a kind in its one typed form.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from handloop.apis.meta import Kind
from handloop.controller.runtime.deadline import Deadline
from handloop.controller.runtime.kind_informer import KindInformer
from handloop.informers.factory import ResourceSource, SharedInformerFactory
from handloop.informers.progress import INTERVAL_SECONDS, SyncProgress
from handloop.informers.shared_informer import DEFAULT_OPTIONS, InformerOptions, SharedIndexInformer
from handloop.informers.sync import SYNC_POLL_SECONDS
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.spawn import Spawn, spawn_thread

T = TypeVar("T", bound=Kind)

# caches that are still being filled are waited for so long at most, before others go on without them
WARM_UP_SECONDS: Final = 60.0


class Caches:
    """
    One informer factory per namespace; one for all of them when none is named. Threads: any.

    A cluster-scoped kind has one informer, whatever the namespaces.
    State: _stop, that of start, None before. It is set before the factories start, each under its lock: an
    informer that comes too late for that finds it set.
    """

    def __init__(
        self,
        client: ResourceSource,
        *,
        namespaces: Sequence[str] = (),
        resync_seconds: float = 0,
        transform: Callable[[Any], Any] | None = None,
        options: InformerOptions = DEFAULT_OPTIONS,
        progress_seconds: float = INTERVAL_SECONDS,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Make them; nothing is asked of the server before start.

        Args: transform makes what is kept of every object; see SharedIndexInformer.set_transform.
        Raises: TypeError for a str as namespaces, whose letters are not meant; ValueError for all of them
        beside single ones, whose objects would be held twice.
        """
        if isinstance(namespaces, str):
            raise TypeError(f"namespaces is a sequence of names, such as ({namespaces!r},), and not a str")
        self._progress_seconds = progress_seconds
        self._clock = clock
        self._stop: threading.Event | None = None
        wanted = list(dict.fromkeys(namespaces)) or [""]
        if "" in wanted and len(wanted) > 1:
            raise ValueError(
                f'namespaces={namespaces!r} holds "", which is all namespaces, beside single ones: '
                'leave "" out to watch those alone, or give () for all'
            )
        self._factories = {
            namespace: SharedInformerFactory(
                client,
                resync_seconds=resync_seconds,
                namespace=namespace,
                transform=transform,
                name_suffix=f"@{namespace}" if len(wanted) > 1 else "",
                options=options,
                clock=clock,
                spawn=spawn,
            )
            for namespace in wanted
        }

    def informer_for(self, kind: type[T]) -> KindInformer[T]:
        """The informers of a kind, shared by all who ask; after start they are started, not waited for."""
        factories = self._factories
        if not kind.resource.namespaced:
            factories = {"": next(iter(factories.values()))}
        made = {namespace: factory.informer_for(kind) for namespace, factory in factories.items()}
        if self._stop is not None:
            self.start(self._stop)
        return KindInformer(kind, made)

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """All of them: by namespace, in the order of the first requests."""
        return [informer for factory in self._factories.values() for informer in factory.informers()]

    def start(self, stop: threading.Event) -> None:
        """Start those made so far, and from here on those to come; does not wait."""
        self._stop = stop
        for factory in self._factories.values():
            factory.start(stop)

    def stop(self) -> None:
        """Tell all to end, for good; does not wait."""
        for informer in self.informers():
            informer.stop()

    def shutdown(self, seconds: float = math.inf) -> list[str]:
        """
        Stop all, for good.

        Returns: the plurals of the kinds whose informers have not ended in that time.
        Blocks: until they have ended.
        """
        deadline = Deadline(seconds, clock=self._clock)
        late = [kind for each in self._factories.values() for kind in each.shutdown(deadline.remaining())]
        return list(dict.fromkeys(kind.resource.plural for kind in late))

    def warm_up(self, stop: threading.Event) -> None:
        """
        Wait until every cache is filled, or in trouble.

        Blocks: until then, for a minute at most.
        """
        progress = self._progress()
        until = self._clock.now() + WARM_UP_SECONDS
        while self._clock.now() < until and any(map(_is_being_filled, self.informers())):
            progress.tick()
            if self._clock.sleep(SYNC_POLL_SECONDS, stop):
                return

    def report(self, stop: threading.Event) -> None:
        """
        Say now and then how far the caches are.

        Blocks: until all are filled, or stop is set.
        """
        progress = self._progress()
        while not all(informer.has_synced() for informer in self.informers()):
            progress.tick()
            if self._clock.sleep(SYNC_POLL_SECONDS, stop):
                return
        progress.finished()

    def synced_check(self) -> str | None:
        """A health check: every cache is filled."""
        waiting = [one.kind.resource.plural for one in self.informers() if not one.has_synced()]
        return f"no complete list yet of {', '.join(dict.fromkeys(waiting))}" if waiting else None

    def _progress(self) -> SyncProgress:
        return SyncProgress(self.informers(), interval_seconds=self._progress_seconds, clock=self._clock)


def _is_being_filled(informer: SharedIndexInformer[Any]) -> bool:
    """Whether a first list is under way that may well come to an end."""
    if informer.has_synced():
        return False
    reflector = informer.statistics().reflector
    return reflector is None or not reflector.last_error
