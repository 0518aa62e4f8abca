"""
Limit the informers, reconciles and writes of one replica to its slots.

    ShardCoordinator --serve(slot)--> SlotWork --holds--> HeldSlots --> informers, fence, admissions
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.apis.core_v1 import Namespace
from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import metadata_of
from handloop.client.errors import ClientError
from handloop.client.resource_client import Client, ResourceClient
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.election.election import new_identity
from handloop.controller.runtime.election.write_fence import WriteFence
from handloop.controller.runtime.guards.admission import Admitted, ShareWorker
from handloop.controller.runtime.life.runnable import Runnable, needs_leader_election
from handloop.controller.runtime.metrics.slot_objects import SlotObjects
from handloop.controller.runtime.rbac.access import LISTING_NAMESPACES, Access
from handloop.controller.runtime.serving.health import Check, Well
from handloop.controller.runtime.sharding.coordinator import ShardCoordinator, ShardStatistics
from handloop.controller.runtime.sharding.narrowing import Narrowing
from handloop.controller.runtime.sharding.shard_access import shards_access
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.controller.runtime.sharding.sharded_kinds import (
    NamespaceCrossings,
    ShardedKinds,
    ShardingError,
    UnlabelledChildren,
)
from handloop.controller.runtime.sharding.shards import Shards
from handloop.controller.runtime.sharding.share import Part, Views
from handloop.controller.runtime.sharding.slot_work import Admission, SlotWork
from handloop.controller.runtime.sources.informer_source import MapFunc
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Cache
from handloop.informers.restriction import Restrictions
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import SLOT_LABEL, ShardedBy, ShardScope
from handloop.informers.sharding.slot_restriction import SlotRestrictions
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("shards")

NOT_IN_OUR_SLOTS: Final = (
    "this replica does not hold the slot: nothing was sent. In a reconcile, the slot is that of the "
    "reconciled object; otherwise, it is that of the namespace in the request's path"
)
_LIST_SECONDS: Final = 5.0


class Replica:
    """
    One of several replicas that share the work by slots. Implements Share and SlotServer.

    Fields: shards; held, its slots; work, which serves the slots; kinds, how each kind is sharded, or None
    with shards by namespace; coordinator.
    Threads: those of ShardCoordinator and SlotWork; any thread can call the methods that return data.
    """

    is_divided = True

    def __init__(
        self,
        shards: Shards,
        leases: ResourceClient[Lease],
        registry: CollectorRegistry,
        *,
        drain_seconds: float,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: registry is for the metrics; ShardCoordinator uses leases; SlotWork uses drain_seconds."""
        self.shards = shards
        self.held = HeldSlots(shards.count)
        self.kinds = ShardedKinds(self.held) if shards.by == "uid" else None
        self.work = SlotWork(
            self.held,
            by_namespace=self.kinds is None,
            seconds_of=self._seconds_of,
            drain_seconds=drain_seconds,
            seams=seams,
        )
        self._objects = SlotObjects(self.held, self._informers)
        registry.register(self._objects)
        self._narrowing = Narrowing(self.held, self._informers)
        self._terms = shards.terms(shards.lease)
        self.coordinator = ShardCoordinator(
            shards,
            self._terms,
            leases,
            identity=new_identity(),
            server=self,
            metrics=ShardMetrics(registry),
            seams=seams,
        )

    def serve(self, slot: int, stop: threading.Event) -> None:
        """See SlotServer and SlotWork.serve."""
        self.work.serve(slot, stop)

    def lost(self, slot: int) -> None:
        """See SlotServer."""
        self.work.lost(slot)

    def turned(self) -> None:
        """See SlotServer."""
        self._narrowing.report()

    def _informers(self) -> list[SharedIndexInformer[Any]]:
        return [informer for view in self.work.informers() for informer in view.informers]

    def _seconds_of(self, slot: int) -> float:
        return self.coordinator.seconds_to_write(slot)

    @property
    def restrictions(self) -> Restrictions:
        """The restrictions on the objects that the informers store."""
        return SlotRestrictions(self.kinds or ShardScope(self.held, "namespace"))

    def fenced(self, client: Client, stop: threading.Event, *, patience_seconds: float) -> Client:
        """
        Return a client that writes only in held slots.

        In a reconcile, the client stops waiting when the slot's tenure is over; elsewhere, when stop is set.
        """
        waits = client.until(partial(self.work.stop_of_waits, stop), patience_seconds=patience_seconds)
        fence = partial(WriteFence, seconds_to_write=self.work.seconds_to_write, refusal=NOT_IN_OUR_SLOTS)
        return waits.wrap(fence)

    def admission(
        self,
        informers: Sequence[MultiNamespaceInformer[Any]],
        worker: ShareWorker,
        reconciled: MultiNamespaceInformer[Any],
    ) -> Admitted:
        """See Share."""
        return Admission(self.work, informers, worker=worker, slot_of=self._slot_in(reconciled)).admitted

    def _slot_in(self, cache: Cache[Any]) -> Callable[[ObjectName], int | None] | None:
        """
        With shards by UID, return a function that looks up a name's slot in the cache; otherwise None.

        The function returns None if the object is not cached, because its slot is then unknown.
        """
        by_uid = ShardScope(self.held, "uid")

        def slot_of(name: ObjectName) -> int | None:
            found = cache.get_by_key(str(name))
            return None if found is None else by_uid.slot_of("", found.metadata.uid, {})

        return None if self.kinds is None else slot_of

    def declare(self, kinds: Iterable[tuple[type[Kind], bool]]) -> Sequence[str]:
        """
        Declare how kinds are sharded; see Share.

        With shards by UID, the reconciled kind is sharded by UID, and owned kinds are sharded by label. Other
        kinds are not sharded.
        """
        if self.kinds is None:
            return ()
        (reconciled, _), *others = kinds
        asked: dict[type[Kind], set[ShardedBy | None]] = {reconciled: {"uid"}}
        for kind, is_owned in others:
            asked.setdefault(kind, set()).add("label" if is_owned else None)
        labelled = []
        for kind, ways in asked.items():
            by = ways.pop() if len(ways) == 1 else None
            self.kinds.declare(kind, by)
            labelled += [kind.resource.group_resource] * (by == "label")
        return labelled

    def watching(self, client: Client, controller: str, labelled: Sequence[str]) -> Client:
        """See Share."""
        return client.telling(UnlabelledChildren(controller, labelled).accepted) if labelled else client

    def mapped(self, controller: str, names_of: MapFunc[Any]) -> MapFunc[Any]:
        """
        Return the map function for a controller; see Share.

        With shards by namespace, the function also reports relations that cross namespaces. With shards by
        UID, such relations are allowed, because mapped kinds are not sharded.
        """
        return NamespaceCrossings(controller, names_of) if self.kinds is None else names_of

    def refuse_names(self, controller: str) -> None:
        """See Share."""
        if self.kinds is not None:
            raise ShardingError(
                f"controller {controller} cannot be sharded by uid: the name of a deleted object has no UID. "
                'Use complete(reconcile) instead of complete_by_name, or Shards(..., by="namespace")'
            )

    def refuse(self, runnable: Runnable) -> None:
        """Refuse a runnable that can neither be sharded nor run in each replica; see Share."""
        by = getattr(runnable, "shards_by", ())
        if not needs_leader_election(runnable) or self.shards.by in by:
            return
        otherwise = (
            "run it with leader election, or set needs_leader_election = False if each replica can run it"
        )
        fix = f'use Shards(..., by="{by[0]}")' if by else otherwise
        raise ShardingError(f"{runnable.name} cannot be sharded by {self.shards.by}: {fix}")

    @property
    def identity(self) -> str:
        """The replica's identity, which is in its Leases."""
        return self.coordinator.statistics().identity

    def elsewhere(self, name: ObjectName, *, is_known: bool) -> tuple[str, str]:
        """
        Return why another replica reconciles a name, and that replica's identity; see Share.

        With shards by UID, the slot is known only if this replica has the object in its cache.
        """
        seen = self.coordinator.statistics()
        if self.kinds is not None:
            if is_known:
                return "", ""
            others = ", ".join(each for each in seen.members if each != seen.identity)
            return f"slots are by UID, so another replica may have it: {others}" if others else "", ""
        slot = self.work.slot_by_namespace(name)
        if slot in seen.held:
            return "", ""
        holder = next((each.holder for each in seen.slots if each.slot == slot), "")
        words = f"is held by {holder}" if holder else "has no holder now"
        return f"another process works on it: slot {slot} of {seen.count} {words}", holder

    def access(self) -> tuple[Access, ...]:
        """Return the permissions that shards need."""
        return (*shards_access(self._terms.namespace), *(() if self.kinds else (LISTING_NAMESPACES,)))

    def child_labels(self) -> Mapping[str, str]:
        """Return the labels for children in this thread's reconcile, or {} with shards by namespace."""
        tenure = self.work.works_in.get()
        return {} if self.kinds is None or tenure is None else {SLOT_LABEL: str(tenure.slot)}

    def statistics(self) -> ShardStatistics:
        """See Share."""
        return self.coordinator.statistics()

    def objects(self) -> Mapping[int, int]:
        """See Share."""
        return self._objects.counts()

    def part(self, client: Client, views: Views) -> Part:
        """
        Return the function that acquires and serves slots; see Share.

        With shards by namespace, the function first lists the Namespaces, because the informers' requests
        exclude the namespaces of other slots by name.
        """
        self.work.informers = views
        return Part("shards", partial(self._run, client))

    def _run(self, client: Client, stop: threading.Event) -> None:
        """
        Run the coordinator. With shards by namespace, list the Namespaces first.

        Raises: any error that ShardCoordinator.run raises. Blocks: until stop is set and all work has ended.
        """
        if self.kinds is None:
            try:
                found = client.resource(metadata_of(Namespace)).within(_LIST_SECONDS).list().items
                self.held.namespaces.learn(each.metadata.name for each in found)
            except ClientError as error:
                log.info("Namespaces cannot be listed: they are taken from arriving objects", err=str(error))
        self.coordinator.run(stop)

    def liveness_checks(self) -> Mapping[str, Check]:
        """Return a check that fails if this replica works on a slot whose Lease has expired."""
        return {"shards": self.coordinator.check}

    def readiness_checks(self) -> Mapping[str, Check]:
        """Return a check that always succeeds, because a replica without slots is ready to take over some."""

        def check() -> Well:
            seen, words = self.coordinator.statistics(), self._narrowing.words()
            slots = f"{len(seen.held)} of {seen.count} slots, replicas: {len(seen.members)}"
            if seen.leader:
                return Well(f"waiting until {seen.leader}, which runs with leader election, has stopped")
            return Well(f"{slots}; {words}" if words else slots)

        return {"shards": check}
