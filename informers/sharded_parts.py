"""What an informer of slots has beside, or in place of, what any other has: its source, and its FIFO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.delta_fifo import KnownObjects
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.listwatch import ListerWatcher
from handloop.informers.reflector import Reflector
from handloop.informers.sharded_source import ShardedSource
from handloop.informers.shards import ShardScope
from handloop.informers.slot_fifo import SlotFIFO
from handloop.seams.clock import Clock

T = TypeVar("T", bound=Kind)


class ShardedParts(Generic[T]):
    """
    The parts of one informer that know slots. Fields: scope; source, which narrows another.

    State: _fifo, None before new_fifo. Threads: any.
    """

    def __init__(
        self,
        scope: ShardScope,
        lister_watcher: ListerWatcher[T],
        *,
        metrics: InformerMetrics,
        name: str,
        clock: Clock,
    ) -> None:
        """Args: lister_watcher is of all objects; name is the informer's."""
        self.scope = scope
        self.source = ShardedSource(lister_watcher, scope, metrics=metrics, name=name, clock=clock)
        self._name = name
        self._clock = clock
        self._fifo: SlotFIFO[T] | None = None

    def new_fifo(self, known_objects: KnownObjects[T], transformer: Callable[[T], T] | None) -> SlotFIFO[T]:
        """The informer's FIFO, once."""
        self._fifo = SlotFIFO(
            known_objects,
            self.scope,
            lambda: self.source.asked,
            transformer=transformer,
            name=self._name,
            clock=self._clock,
        )
        return self._fifo

    def has_opened(self, version: int) -> bool:
        """As SlotFIFO.has_opened; not before there is a FIFO."""
        return self._fifo is not None and self._fifo.has_opened(version)

    def follow(self, reflector: Reflector[T]) -> Callable[[], None]:
        """Take part in each change of the slots from here on; after new_fifo. Returns: what ends this."""
        fifo = self._fifo
        assert fifo is not None

        def changed() -> None:
            fifo.depart()
            reflector.slots_changed(self.source)

        return self.scope.held.on_change(changed)
