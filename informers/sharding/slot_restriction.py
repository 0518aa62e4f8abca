"""The restriction of an informer to the objects in the slots that this process holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.delta_fifo import KnownObjects
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.lister import Cache
from handloop.informers.listwatch import ListerWatcher
from handloop.informers.quarantine import Quarantine
from handloop.informers.restriction import Restricted, Restriction, Whole
from handloop.informers.sharding.served_cache import ServedCache
from handloop.informers.sharding.shard_scope import Sharding, ShardScope
from handloop.informers.sharding.sharded_source import ShardedSource
from handloop.informers.sharding.slot_fifo import SlotFIFO
from handloop.seams.clock import Clock

T = TypeVar("T", bound=Kind)


class SlotRestriction(ShardedSource[T]):
    """
    Restricts an informer to the held slots. Implements handloop.informers.restriction.Restriction.

    The restriction's version is the version of HeldSlots. The property `source` returns the restriction
    itself, which filters the source passed to the constructor.
    State: _fifo is None until new_fifo is called; _restricted is the component that is notified of changes,
    or None.
    Threads: usable from any thread.
    """

    restricts = True

    def __init__(
        self,
        kind: type[T],
        scope: ShardScope,
        source: ListerWatcher[T],
        *,
        metrics: InformerMetrics,
        name: str,
        clock: Clock,
    ) -> None:
        """Args: source provides the objects in all slots; name is the informer's name."""
        super().__init__(source, scope, metrics=metrics, name=name, clock=clock)
        self._resource = kind.resource
        self._fifo: SlotFIFO[T] | None = None
        self._restricted: Restricted | None = None

    @property
    def source(self) -> ShardedSource[T]:
        """See Restriction."""
        return self

    @property
    def narrowed_by(self) -> str:
        """
        Return how objects in other slots are kept out of the store.

        Returns: a string that depends on how the kind is sharded; "" before the first list, except by label.
            by label      "labels", even before the first list.
            by namespace  "fields" if the field selector excludes all namespaces in other slots; "client" if
                          it cannot name all of them, so that some of their objects arrive and are dropped
                          here.
            by UID        "server" if the server says that it left objects out, or if many objects arrived
                          and all are in held slots; "client" if objects in other slots arrive and are
                          dropped here; "unknown" if too few objects have arrived.
        """
        return self.sharded_by

    def new_fifo(
        self,
        known_objects: KnownObjects[T],
        transformer: Callable[[T], T] | None,
        *,
        name: str,
        clock: Clock,
    ) -> SlotFIFO[T]:
        """See Restriction."""
        self._fifo = SlotFIFO(known_objects, self, transformer=transformer, name=name, clock=clock)
        return self._fifo

    def cache(self, store: Cache[T]) -> Cache[T]:
        """See Restriction. A read of a namespace in a slot that is not held raises NamespaceNotServed."""
        return ServedCache(store, self._resource, self.scope) if self.scope.by == "namespace" else store

    def follow(self, restricted: Restricted) -> None:
        """See Restriction."""
        self._restricted = restricted
        self.scope.held.follow(self)

    def leave(self) -> None:
        """See Restriction."""
        self.scope.held.leave(self)

    def slots_changed(self) -> None:
        """
        See SlotFollower.

        First drop the objects in released slots, and then list the new slots.
        """
        assert self._fifo is not None
        assert self._restricted is not None
        self._fifo.depart()
        self._restricted.restriction_changed()

    def has_listed(self, version: int) -> bool:
        """See Restriction."""
        return self._fifo is not None and self._fifo.has_opened(version)

    def forget_foreign(self, quarantine: Quarantine) -> None:
        """See Restriction. Called when the first list or event arrives after the release of a slot."""
        scope = self.scope
        if scope.by != "label":  # the labels of quarantined objects are not known
            quarantine.forget(lambda each: not scope.holds(each.key_namespace, each.uid, {}))

    @property
    def now(self) -> object:
        """See Restriction."""
        return self.scope.held.now

    def version_of(self, namespace: str) -> int | None:
        """See Restriction."""
        if self.scope.by != "namespace" or not namespace:
            return 0
        held = self.scope.held
        return held.now.since.get(held.namespaces.slot_of(namespace))

    def holds(self, obj: Kind) -> bool:
        """See Restriction."""
        metadata = obj.metadata
        return self.scope.holds(metadata.namespace, metadata.uid, metadata.labels)

    def would_hold(self, obj: Mapping[str, Any]) -> bool:
        """See Restriction."""
        metadata = obj.get("metadata") or {}
        return self.scope.holds(
            metadata.get("namespace") or "", metadata.get("uid") or "", metadata.get("labels") or {}
        )


class SlotRestrictions:
    """Implements handloop.informers.restriction.Restrictions. A Sharding provides each kind's scope."""

    def __init__(self, sharding: Sharding) -> None:
        self._sharding = sharding

    def restrict(
        self, kind: type[T], source: ListerWatcher[T], /, *, metrics: InformerMetrics, name: str, clock: Clock
    ) -> Restriction[T]:
        """See Restrictions."""
        scope = self._sharding.scope_of(kind)
        if scope is None:
            return Whole(source)
        return SlotRestriction(kind, scope, source, metrics=metrics, name=name, clock=clock)
