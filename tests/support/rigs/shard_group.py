"""
Replicas that share slots, on virtual threads, each with a network and clocks of its own.

In a group with a server each has an informer, too. It lets a replica act on a slot only once that has listed
the slot, as handloop.controller.runtime.sharding.slot_work does.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from random import Random
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.client.errors import DeadlineExceeded
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.sharding.coordinator import ShardCoordinator
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.controller.runtime.sharding.shards import Shards
from handloop.informers.informer_options import InformerOptions
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import ShardScope
from handloop.informers.sharding.slot_restriction import SlotRestrictions
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.seams import Seams
from handloop_explore.virtual_threads import VirtualClock, VirtualThread, VirtualThreads
from support.doubles.sharded_server import ShardedServer
from support.rigs.election import LeaseAPI, refusal

TERMS: Final = LeaseTerms(namespace="demo", name="op")
LEASE_SECONDS: Final = TERMS.lease_duration_seconds
PERIOD: Final = TERMS.retry_period_seconds
SAMPLE_SECONDS: Final = 0.25
_POLL_SECONDS: Final = 0.1
_ACT_SECONDS: Final = 1.0


class _Clock(VirtualClock):
    """The time of all, counted from elsewhere, on a wall clock that is wrong by so much."""

    def __init__(self, threads: VirtualThreads, skew: float) -> None:
        super().__init__(threads)
        self._skew = skew

    def now(self) -> float:
        return super().now() + abs(self._skew)

    def time(self) -> float:
        return super().time() + self._skew


class InformedWork:
    """
    What one replica does in its slots: it changes each object once a second, from what its cache has.

    Fields: acted, how often; missed, the objects on which it acted though the cache lacked their version of
    before the slot came.
    """

    def __init__(self, server: ShardedServer, count: int, seams: Seams) -> None:
        self.acted = 0
        self.missed: list[str] = []
        self._server = server
        self._clock = seams.clock
        self._held = HeldSlots(count)
        scope = ShardScope(self._held, "namespace")
        self.informer: SharedIndexInformer[Deployment] = SharedIndexInformer(
            server,
            Deployment,
            options=InformerOptions(restrictions=SlotRestrictions(scope), stop_poll_seconds=10_000),
            seams=seams,
        )

    def serve(self, slot: int, stop: threading.Event, may_write: Callable[[], bool]) -> None:
        """Act on a slot until stop is set."""
        written = {one.metadata.name: one for one in self._server.objects.values() if self._is_in(slot, one)}
        version = self._held.add(slot)
        try:
            while not stop.is_set() and not self.informer.has_listed(version):
                self._clock.sleep(_POLL_SECONDS, stop)
            while not stop.is_set():
                for name, before in written.items():
                    self._act(name, before, may_write)
                self._clock.sleep(_ACT_SECONDS, stop)
        finally:
            self._held.remove(slot)

    def _act(self, name: str, before: Deployment, may_write: Callable[[], bool]) -> None:
        if not may_write():
            return
        self.acted += 1
        cached = self.informer.indexer.get_by_key(f"{before.metadata.namespace}/{name}")
        if cached is None or int(cached.metadata.resource_version) < int(before.metadata.resource_version):
            self.missed.append(name)
        self._server.put(name, namespace=before.metadata.namespace)

    def _is_in(self, slot: int, obj: Deployment) -> bool:
        return slot_of_namespace(obj.metadata.namespace, self._held.count) == slot


class Replica:
    """
    A process with a coordinator. Implements handloop.client.transport.Transport.

    Fields: serving, the slots being served now, and served, all so far; lost, those told to on_lost; given,
    those whose work was ended while we had their Lease, and were a member that does not stop;
    requests, how many of each verb; work and drain, what serve does first, and once its stop is set; latency,
    seconds for each half of a request; reaches, whether its requests arrive; refused, a name that it may not
    write; error, why it has ended; informed, what it does in its slots if the group has a server.
    """

    def __init__(self, group: ShardGroup, name: str, shards: Shards, skew: float) -> None:
        self.name = name
        self.identity = f"{name}_{name}"
        self.group = group
        self.serving: set[int] = set()
        self.served: list[int] = []
        self.lost_slots: list[int] = []
        self.given: list[int] = []
        self._out_at = -inf
        self.requests = Counter[str]()
        self.work: Callable[[], object] = lambda: None
        self.drain: Callable[[], object] = lambda: None
        self.latency: Callable[[], float] = lambda: 0.005
        self.reaches = True
        self.refused = ""
        self.is_dead = False
        self.error: BaseException | None = None
        self.registry = CollectorRegistry()
        self.stop = threading.Event()
        stopped = threading.Event()
        stopped.set()
        seams = Seams(
            clock=_Clock(group.threads, skew), random=Random(name).random, spawn=group.threads.spawn
        )
        self.informed = InformedWork(group.server, group.count, seams) if group.server else None
        self.coordinator = ShardCoordinator(
            shards,
            TERMS,
            Client(self, stop=stopped).resource(Lease),
            identity=self.identity,
            server=self,
            metrics=ShardMetrics(self.registry),
            seams=seams,
        )
        self.thread = VirtualThread(group.threads, target=self._run, name=name)
        self.thread.process = self
        self.thread.start()

    @property
    def writes(self) -> set[int]:
        """The slots for which it may write now."""
        slots = range(self.coordinator.statistics().count)
        return {slot for slot in slots if self.coordinator.seconds_to_write(slot) > 0}

    def kill(self) -> None:
        """As by kill -9."""
        self.is_dead = True
        threads = self.group.threads
        threads.kill([thread for thread in threads.threads() if thread.process is self])

    def pause(self, seconds: float) -> None:
        """As by SIGSTOP, and SIGCONT later."""

        def sleep() -> None:
            self.group.threads.pause(seconds)
            self.group.count_gaps_anew()

        thread = VirtualThread(self.group.threads, target=sleep, name="pause")
        thread.process = self
        thread.start()

    def lost(self, slot: int) -> None:
        self.lost_slots.append(slot)

    def turned(self) -> None:
        if not self.coordinator.statistics().members:
            self._out_at = self.group.threads.now

    def _run(self) -> None:
        if self.informed:
            self.group.threads.spawn("informer", partial(self.informed.informer.run, threading.Event()))
        try:
            self.coordinator.run(self.stop)
        except Exception as error:
            self.error = error
        if self.informed:
            self.informed.informer.stop()

    def serve(self, slot: int, stop: threading.Event) -> None:
        assert slot not in self.serving, "served twice at once"
        self.serving.add(slot)
        self.served.append(slot)
        self.group.check()
        try:
            self.work()
            if self.informed:
                self.informed.serve(slot, stop, lambda: self.coordinator.seconds_to_write(slot) > 0)
            stop.wait()
            is_member = self.group.threads.now - self._out_at > TERMS.renew_deadline_seconds
            if self.coordinator.seconds_to_write(slot) and is_member and not self.stop.is_set():
                self.given.append(slot)
            self.drain()
        finally:
            self.serving.discard(slot)

    def request(
        self, method: str, path: str, *, timeout_seconds: float | None = None, **options: Any
    ) -> Response:
        assert timeout_seconds is not None
        limit = self.group.threads.now + timeout_seconds
        self._travel(limit)
        if self.refused and path.endswith(self.refused):
            return refusal(403, "Forbidden")
        answer = self.group.api.request(method, path, timeout_seconds=timeout_seconds, **options)
        self.requests[self.group.api.ops[-1]] += 1
        self._travel(limit)
        return answer

    def _travel(self, limit: float) -> None:
        """One way through the network."""
        left = limit - self.group.threads.now
        seconds = self.latency() if self.reaches else left
        self.group.threads.sleep(min(seconds, left))
        if self.is_dead or not self.reaches or seconds >= left:
            raise DeadlineExceeded("no answer")

    def stream(self, *_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("nobody watches leases")


class ShardGroup:
    """
    Replicas by name, in the order of their start.

    State: holders, who may write for each slot as last sampled; moves, how often each slot has changed hands;
    gaps, for how long at most it had no holder in between; a gap begins with a fault's end at the earliest.
    """

    def __init__(self, threads: VirtualThreads, count: int, server: ShardedServer | None = None) -> None:
        self.threads = threads
        self.count = count
        self.server = server
        self.api = LeaseAPI()
        self.replicas: dict[str, Replica] = {}
        self.moves = Counter[int]()
        self.holders: dict[int, str] = {}
        self.gaps: dict[int, float] = {}
        self._last_held: dict[int, float] = {}

    def start(self, name: str, *, skew: float = 0.0, shards: Shards | None = None) -> Replica:
        """A new replica."""
        replica = self.replicas[name] = Replica(self, name, shards or Shards(self.count), skew)
        return replica

    def living(self) -> list[Replica]:
        """Those that were not killed and have not ended."""
        return [
            replica for replica in self.replicas.values() if replica.thread.is_alive() and not replica.is_dead
        ]

    def check(self) -> dict[int, str]:
        """Who may write for which slot now; never two."""
        found: dict[int, str] = {}
        for replica in self.living():
            for slot in replica.writes:
                assert slot not in found, f"{found[slot]} and {replica.name} write for {slot}"
                found[slot] = replica.name
        return found

    def count_gaps_anew(self) -> None:
        """A fault has ended: gaps begin now at the earliest."""
        self._last_held = dict.fromkeys(range(self.count), self.threads.now)

    def run(self, seconds: float) -> None:
        """Let time pass, and look all the time: who has a slot keeps it until the members settle."""
        for _ in range(round(seconds / SAMPLE_SECONDS)):
            self.threads.run_for(SAMPLE_SECONDS)
            found, now = self.check(), self.threads.now
            for replica in self.living():
                seen, given = replica.coordinator.statistics(), replica.given
                assert not given or seen.settled, f"{replica.name} gave up {given}"
                replica.given = []
            for slot, holder in found.items():
                gap = now - self._last_held.get(slot, now)
                self.gaps[slot] = max(self.gaps.get(slot, 0.0), gap)
                self.moves[slot] += holder != self.holders.get(slot, holder)
                self._last_held[slot] = now
            self.holders.update(found)

    def spread(self) -> dict[str, int]:
        """How many slots each replica may write for."""
        return {replica.name: len(replica.writes) for replica in self.living()}


@contextmanager
def shard_group(
    count: int, *, seed: int | None = None, lag_seconds: float | None = None
) -> Iterator[ShardGroup]:
    """
    A group without replicas.

    Args: seed decides the order of threads, None = first come, first served. lag_seconds = of the watch cache
    of a server, for which replicas have informers; None = there is none.
    """
    with VirtualThreads(None if seed is None else Random(seed)) as threads:
        server = (
            None if lag_seconds is None else ShardedServer(VirtualClock(threads), lag_seconds=lag_seconds)
        )
        yield ShardGroup(threads, count, server)
