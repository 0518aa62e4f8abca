"""
The parts that the controllers of one process share.

Each controller waits only for its own caches, so that a missing CRD does not stop the other controllers.
Follows: controller-runtime pkg/manager, differs: a failing controller ends the process in order.
"""

from __future__ import annotations

import dataclasses
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, Self, TypeVar

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.apis.grammar.labels import Selector
from handloop.apis.meta import Kind
from handloop.client.auth.in_cluster import SERVICE_ACCOUNT, in_cluster_possible
from handloop.client.config import ClientConfig, load_config
from handloop.client.resource_client import Client, ResourceClient
from handloop.controller.runtime.caching.cache_wait import FirstReads
from handloop.controller.runtime.caching.caches import Caches, chosen_namespaces
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.caching.namespace_annotations import NamespaceAnnotations
from handloop.controller.runtime.caching.namespace_fence import NamespaceFence
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election import Election, LeaseTerms, lease_terms
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.leader_election import (
    LeaderCallbacks,
    LeaderElector,
    LeadershipLost,
)
from handloop.controller.runtime.election.lease_connections import LeaseConnections, leases_over
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.controller.runtime.events.recorders import Recorders
from handloop.controller.runtime.life.runnable import Runnable
from handloop.controller.runtime.life.signals import SignalHandler
from handloop.controller.runtime.lifetime import Lifetime
from handloop.controller.runtime.metrics.controller_metrics import (
    OwnWriteMetrics,
    ReconcileMetrics,
    WorkqueueMetricsProvider,
)
from handloop.controller.runtime.metrics.informer_metrics import CacheState, InformerMetricsProvider
from handloop.controller.runtime.metrics.metrics_page import new_registry
from handloop.controller.runtime.process_services import Closing, ProcessServices
from handloop.controller.runtime.reconciling.controller import DEFAULT_CONTROLLER_OPTIONS, ControllerOptions
from handloop.controller.runtime.reconciling.explainer import Why
from handloop.controller.runtime.reconciling.why_page import why_page
from handloop.controller.runtime.roster import Roster
from handloop.controller.runtime.servers import Pages
from handloop.controller.runtime.serving.bind_address import parse_bind_address
from handloop.controller.runtime.serving.health import Check
from handloop.controller.runtime.serving.open_files import raise_open_files
from handloop.controller.runtime.serving.page_server import Page
from handloop.controller.runtime.sharding.replica import Replica
from handloop.controller.runtime.sharding.shards import Shards
from handloop.controller.runtime.sharding.share import Share, Sole
from handloop.informers.informer_options import DEFAULT_OPTIONS, InformerOptions
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.object_watch import Changed, ObjectWatch
from handloop.informers.selection import Labels, selection_of
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.tracer_provider import start_tracing

log = get_logger("manager")

T = TypeVar("T", bound=Kind)

PATIENCE_SECONDS: Final = 2.0
"""How long a controller's request waits for a busy server in total. A busy server often asks for 1 s."""

_SHARDS_ALONE: Final = "shards need all namespaces and no leader election, because all replicas work"


class Manager(Roster):
    """
    The informers, Events, metrics and life cycle of one process's controllers.

    Fields: client, which passes each write through a WriteFence; elector, or None without leader election;
    replica, this process's Share, which is a Replica if there are shards. With leader election, the
    WriteFence allows a write only while no other process can become leader; with shards, only while no other
    process can work on the slot. Code that has to write at other times uses the client that was passed to the
    manager.

    Threads: main calls `run`; Lifetime starts threads; the health server calls the checks.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespaces: Sequence[str] | str | Selector = (),
        informer_options: InformerOptions = DEFAULT_OPTIONS,
        controller_options: ControllerOptions = DEFAULT_CONTROLLER_OPTIONS,
        registry: CollectorRegistry | None = None,
        leader_election: LeaderElectionConfig | None = None,
        shards: Shards | None = None,
        leases: ResourceClient[Lease] | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create a manager. It sends no request to the server before run.

        Args: namespaces is either a sequence of namespaces to watch (empty means all), or a label selector
        such as "team=a". With a selector, namespaces can join and leave while the manager runs; the objects
        of a namespace that leaves are not treated as deleted. A read of any other namespace raises
        NamespaceNotWatched. informer_options apply to every informer, and controller_options are every
        controller's defaults. registry must not belong to another manager; if it is None, the manager creates
        one. If shards is given, this process works on some slots, and other replicas work on the others;
        shards names the lease. leases is the client for the shards' Leases; if it is None, they use the
        connections of client (see LeaseConnections).
        Raises: ValueError for a registry with another manager's metrics, for a rate_limiter, which
        controllers cannot share, and for shards with leader election or namespaces; TypeError if seams is not
        a Seams; any error that Caches raises.
        """
        if not isinstance(seams, Seams):
            raise TypeError(f"seams is Seams(clock=...), and not {seams!r}")
        if controller_options.rate_limiter is not None:
            raise ValueError("a rate limiter is for one controller: pass it to with_options")
        super().__init__()
        self.seams = seams
        self.controller_options = controller_options
        self.registry = registry = new_registry() if registry is None else registry
        try:
            self.workqueue_metrics = WorkqueueMetricsProvider(registry)
        except ValueError as error:
            raise ValueError(
                "this registry has another manager's metrics: leave registry out, or give each manager one"
            ) from error
        self.reconcile_metrics = ReconcileMetrics(registry)
        self.own_write_metrics = OwnWriteMetrics(registry)
        if shards is not None and (namespaces or leader_election is not None):
            raise ValueError(_SHARDS_ALONE)
        self.replica: Share = (
            Sole(self.seconds_to_write)
            if shards is None
            else self._new_replica(shards, leases or leases_over(client))
        )
        work_stop, caches_stop = threading.Event(), threading.Event()
        self._first_reads = FirstReads(
            timeout_seconds=controller_options.cache_sync_timeout_seconds, clock=seams.clock
        )
        self._caches = self._new_caches(client.until(caches_stop), namespaces, informer_options)
        registry.register(CacheState(self.informers, seams.clock))
        # With named namespaces, the roles apply to these namespaces, and none of them allows watching all
        # namespaces.
        whole = isinstance(chosen := chosen_namespaces(namespaces), Selector) or chosen == [""]
        watch = partial(self._caches.watch, namespace="", plain=True)
        self.namespace_annotations = NamespaceAnnotations(watch if whole else None)
        fenced = client.wrap(partial(NamespaceFence, has_left=self._caches.has_left))
        self.client = self.replica.fenced(fenced, work_stop, patience_seconds=PATIENCE_SECONDS)
        self._recorders = Recorders(fenced, seams=seams)
        self._lifetime = Lifetime(
            self._caches,
            self._recorders,
            work_stop=work_stop,
            caches_stop=caches_stop,
            shutdown_timeout_seconds=controller_options.shutdown_timeout_seconds,
            seams=seams,
        )
        self.elector: LeaderElector | None = None
        self._services: ProcessServices | None = None
        if leader_election is not None:
            self.elect(leader_election)
        self.declare(*self._caches.access())
        self.declare(*self.replica.access())
        self._lifetime.part = self.replica.part(client.until(caches_stop), self._caches.views)

    def _new_replica(self, shards: Shards, leases: ResourceClient[Lease]) -> Replica:
        drain_seconds = self.controller_options.shutdown_timeout_seconds
        return Replica(shards, leases, self.registry, drain_seconds=drain_seconds, seams=self.seams)

    def _new_caches(
        self, client: Client, namespaces: Sequence[str] | str | Selector, options: InformerOptions
    ) -> Caches:
        options = replace(
            options,
            metrics_provider=InformerMetricsProvider(self.registry),
            reachability=client.reachability,
            stop_poll_seconds=math.inf,  # the lifetime stops each informer
            hints=replace(options.hints, nearest=client.discovery().nearest),
            restrictions=self.replica.restrictions,
        )
        fill = self._first_reads.before_read
        return Caches(client, namespaces=namespaces, options=options, fill=fill, seams=self.seams)

    def __repr__(self) -> str:
        with self._lock:
            names, ran = [each.name for each in self._runnables], self._ran
        state = "stopped" if self._lifetime.stop.is_set() else "running" if ran else "not started"
        return f"<Manager of {', '.join(names) or 'nothing'}: {state}>"

    @classmethod
    def from_config(
        cls,
        config: ClientConfig | None = None,
        *,
        name: str,
        leader_election: str | LeaseTerms = "",
        shards: Shards | None = None,
        metrics: str | None = None,
        health: str | None = None,
        namespaces: Sequence[str] | str | Selector = (),
        registry: CollectorRegistry | None = None,
        seams: Seams = REAL_SEAMS,
        **options: Any,
    ) -> Self:
        """
        Create a manager with its services: connections, pages and the lease. They are closed when run ends.

        Args: if config is None, load_config() finds the kubeconfig, or the pod's service account. name is the
        program's name, which is sent to the server. leader_election is a Lease, `namespace/name` (in a pod,
        the name is enough); "" means no election. metrics and health are addresses such as `:8080`: run
        serves `/metrics` on the first, and `/healthz` and `/readyz` on the second. None means that these
        pages are not served. `served` returns the actual addresses. If shards names no lease, the lease has
        the program's name. options are passed to Manager.
        Raises: ConfigError; ValueError for a lease without a namespace, or an invalid address; the same
        errors as Manager.
        """
        config = load_config() if config is None else config
        pages = Pages(
            metrics=parse_bind_address(metrics or "0"),
            health=parse_bind_address(health or "0"),
            any_host=in_cluster_possible(os.environ, SERVICE_ACCOUNT),
        )
        services = ProcessServices(config, user_agent=name, pages=pages, registry=registry, seams=seams)
        connections: LeaseConnections | None = None
        if shards is not None:
            shards = dataclasses.replace(shards, lease=shards.lease or name)
            connections = LeaseConnections(
                config, user_agent=f"{name} shards", metrics=services.client_metrics, seams=seams
            )
            options["leases"] = connections.leases(services.client.reachability)
        manager = cls(
            services.client,
            namespaces=namespaces,
            registry=services.registry,
            shards=shards,
            seams=seams,
            **options,
        )
        closing: list[Closing] = [] if connections is None else [connections]
        if leader_election:
            terms = lease_terms(leader_election) if isinstance(leader_election, str) else leader_election
            election = Election(
                config,
                terms,
                component=f"{name}-leader-election",
                user_agent=name,
                metrics=services.client_metrics,
                seams=seams,
            )
            election.elect(manager)
            closing.append(election)
        services.attach(manager, *closing)
        manager._services = services
        return manager

    # for controllers

    def informer_for(
        self, kind: type[T], *, labels: Labels = "", fields: str = ""
    ) -> MultiNamespaceInformer[T]:
        """
        Return the shared informers of a kind or a selection. They list and cache only the selected objects.

        Informers that are created before run stay empty until run starts them; the first read then waits
        until they are filled. Once run has started, this method starts new informers and waits until they are
        filled.

        Args: labels and fields use the API server's selector syntax: `app=web`, `metadata.name=settings`.
        Raises: SelectorError for a selector that the server would refuse. Once run has started,
        CacheSyncTimeoutError with the reason why the informers are not filled, or DeadlineExceededError if
        the manager stops first. In a reconcile, WaitError instead, as soon as the list fails or the manager
        stops.
        Blocks: once run has started, until they are filled, for at most cache_sync_timeout_seconds.
        """
        informer = self._caches.informer_for(kind, selection_of(kind, labels=labels, fields=fields))
        self._first_reads.wait_for(informer)
        return informer

    def watch(self, kind: type[T], namespace: str) -> MultiNamespaceInformer[T] | None:
        """
        Start an informer for one namespace. The caller must stop it. Return None if too many are running.

        Once run has started, the informer's first get waits until it is filled, as in informer_for.
        """
        return self._caches.watch(kind, namespace)

    def watch_object(self, kind: type[T], name: ObjectName, changed: Changed[T]) -> ObjectWatch[T] | None:
        """Start a watch of one object. The caller must stop it. Return None if too many are running."""
        return self._caches.watch_object(kind, name, changed)

    def run_beside(self, name: str, run: Callable[[threading.Event], None]) -> bool:
        """Run a function in a thread until the caches stop. Returns: False if no thread is available."""
        return self._caches.run_beside(name, run)

    def informer_of(self, group_resource: str) -> MultiNamespaceInformer[Any] | None:
        """Return the shared informers that cache a whole kind, given as `plural.group`, or None."""
        return self._caches.informer_of(group_resource)

    def lister_for(self, kind: type[T], *, labels: Labels = "", fields: str = "") -> Lister[T]:
        """Return what informer_for returns, for reading."""
        return self.informer_for(kind, labels=labels, fields=fields)

    def recorder(self, component: str) -> EventRecorder:
        """Return a recorder of core/v1 Events for a component. Equal messages are counted in one Event."""
        return self._recorders.recorder(component)

    def elect(
        self,
        config: LeaderElectionConfig,
        *,
        on_waiting: Callable[[ElectionStatistics], None] | None = None,
        on_lost: Callable[[LeadershipLost], None] | None = None,
    ) -> None:
        """
        Enable leader election: the manager works only while this process holds a lease.

        Call this method once, before run.

        The lock needs a separate client, because the manager's client writes only while the lease is held.
        The lock can use this manager's recorder.

        Args: on_waiting and on_lost work as in LeaderCallbacks.
        Raises: ValueError for conflicting durations, a lock without an identity, or a manager with shards.
        """
        if self.replica.is_divided:
            raise ValueError(_SHARDS_ALONE)
        callbacks = LeaderCallbacks(
            on_started_leading=self._lifetime.lead,
            on_waiting=on_waiting,
            on_lost=partial(self._lifetime.lost, on_lost),
        )
        metrics = LeaderElectionMetrics(self.registry)
        self.elector = self._lifetime.elector = LeaderElector(
            config, callbacks, metrics=metrics, seams=self.seams
        )

    # for the program

    def add(self, runnable: Runnable) -> None:
        """
        Add a runnable. Call this method before run.

        During shutdown, the runnable keeps running until all reconciles have ended, because they may use it.

        Raises: the same errors as begin; ShardingError for a runnable that cannot be sharded.
        """
        self.replica.refuse(runnable)
        super().add(runnable)

    def served(self) -> dict[str, str]:
        """Return the actual addresses of from_config's `metrics` and `health` pages, once run has started."""
        services = self._services
        return {} if services is None else {"metrics": services.metrics, "health": services.health}

    def cached_kinds(self) -> set[type[Kind]]:
        """Return the kinds that have been requested."""
        return self._caches.kinds()

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Return all informers, in the order in which they were first requested."""
        return self._caches.informers()

    def why(self, name: ObjectName, controller: str = "") -> Why:
        """
        Return what this process's controllers know about a name: its state, and recent decisions.

        Args: controller limits this to one controller; "" means all. Never blocks. Any thread can call it.
        """
        found = [
            each.explain(name)
            for each in self.runnables().values()
            if hasattr(each, "explain") and controller in ("", each.name)
        ]
        explanations = [each for each in found if each is not None]
        knowing = [each for each in explanations if each.known] or explanations
        is_known = any(each.known for each in explanations)
        process, elsewhere, holder = self._who_works_on(name, is_known=is_known)
        return Why(process=process, elsewhere=elsewhere, holder=holder, explanations=tuple(knowing))

    def why_page(self) -> Page:
        """Return the page `/why`."""
        return why_page(self)

    def _who_works_on(self, name: ObjectName, *, is_known: bool) -> tuple[str, str, str]:
        """Return our identity, why another process works on a name, and its identity. Each may be ""."""
        if self.elector is None:
            return self.replica.identity, *self.replica.elsewhere(name, is_known=is_known)
        seen = self.elector.candidacy.statistics()
        if seen.leading:
            return seen.identity, "", ""
        text = f"this process does not lead: the Lease {seen.lease} is held by {seen.holder or 'nobody yet'}"
        return seen.identity, text, seen.holder

    def seconds_to_write(self) -> float:
        """Return for how many seconds no other process can become leader: infinity without an election."""
        return math.inf if self.elector is None else self.elector.candidacy.seconds_to_write()

    def liveness_checks(self) -> Mapping[str, Check]:
        """Return the checks of `/healthz`: the threads are alive, and no expired lease is held."""
        checks: dict[str, Check] = {
            "ping": lambda: None,
            "workers": self._workers_check,
            "informers": self._caches.alive_check,
        }
        if self.elector is not None:
            checks["leader-election"] = self.elector.candidacy.check
        return {**checks, **self.replica.liveness_checks()}

    def readiness_checks(self) -> Mapping[str, Check]:
        """Return the `/readyz` checks: the caches are fresh, the workers are alive, run is not stopping."""
        checks: dict[str, Check] = {
            "informers-synced": self._caches.synced_check,
            "informers-fresh": self._caches.fresh_check,
            "workers": self._workers_check,
            "runnables": self._ready_check,
            "shutdown": self._lifetime.stopped_check,
        }
        if self.elector is not None:
            candidacy = self.elector.candidacy
            checks["leader"] = lambda: candidacy.statistics().state()
        return {**checks, **self.replica.readiness_checks()}

    # start and stop

    def run(self, stop: threading.Event) -> None:
        """
        Run everything until stop is set, and then shut down in order. A controller that fails also sets stop.

        Raises: ListenError if a page of from_config cannot be served; LeadershipLost, which is never part of
        an ExceptionGroup; a runnable's error, unless stop had already been set (the error is then only
        logged); StopTimeoutError if runnables have not ended after shutdown_timeout_seconds, unless that is
        0; an ExceptionGroup if there are several of these errors. RuntimeError on a second call, if
        `complete` was never called for a controller, or if there is nothing to run; in these cases nothing is
        started.
        Blocks: until stop is set, and then for at most shutdown_timeout_seconds (0 means not to wait for
        runnables) plus 6 s for the lease, caches and Events.
        """
        self._refuse_a_second_run()
        raise_open_files()
        start_tracing()
        with self._services or nullcontext():
            runnables = self._complete(watches=bool(self.informers()))
            self._first_reads.begin(stop)
            self._lifetime.run(runnables, stop)

    def run_until_signalled(self) -> None:
        """
        Like run, but stop at SIGINT or SIGTERM. A second signal ends the process immediately.

        Call this on the main thread.
        Raises: the same errors as run.
        """
        stop = threading.Event()

        def say(signal: str) -> None:
            log.info("Received signal, shutting down", signal=signal)

        with SignalHandler(stop, on_stop=say):
            self.run(stop)
