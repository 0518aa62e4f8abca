"""
The Foo controller with what it needs around it, started and stopped in order.

Producers stop before consumers: informers, then workers (which drain), then events.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from apis.apps_v1 import Deployment
from apis.core_v1 import Event
from apis.samplecontroller_v1alpha1 import Foo
from client.errors import ClientError
from client.options import ListOptions
from client.resource_client import Client
from controller.cli.options import Options
from controller.cli.problems import nothing_to_do
from controller.foo import CONTROLLER_AGENT_NAME, CachesNotSyncedError, Controller
from controller.runtime.events import EventBroadcaster
from controller.runtime.health import Check, stopped_check
from controller.runtime.metrics import InformerMetricsProvider, WorkqueueMetricsProvider
from informers.factory import SharedInformerFactory
from informers.progress import INTERVAL_SECONDS, SyncProgress
from informers.shared_informer import SharedIndexInformer
from workqueue.clock import REAL_CLOCK, Clock
from workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("controller")

NOTHING_TO_DO_SECONDS: Final = 15.0


class Program:
    """
    Everything between a client and a stop event.

    Threads: main runs `run`; the health server calls the checks.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        stop: threading.Event,
        *,
        registry: CollectorRegistry,
        progress_seconds: float = INTERVAL_SECONDS,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        self._client = client
        self._options = options
        self._stop = stop
        self._clock = clock
        self._spawn = spawn
        self._factory = SharedInformerFactory(
            client,
            resync_seconds=options.resync,
            namespace=options.namespace,
            metrics_provider=InformerMetricsProvider(registry),
            clock=clock,
            spawn=spawn,
        )
        self._deployments = self._factory.informer_for(Deployment)
        self._foos = self._factory.informer_for(Foo)
        self._broadcaster = EventBroadcaster(clock=clock, spawn=spawn)
        self._broadcaster.start_structured_logging(verbosity=3)
        self._broadcaster.start_recording_to_sink(client.resource(Event))
        self._controller = Controller(
            client,
            self._deployments,
            self._foos,
            self._broadcaster.new_recorder(CONTROLLER_AGENT_NAME),
            metrics_provider=WorkqueueMetricsProvider(registry),
            shutdown_timeout_seconds=options.shutdown_timeout,
            progress=SyncProgress(
                [self._deployments, self._foos], interval_seconds=progress_seconds, clock=clock
            ),
            clock=clock,
            spawn=spawn,
        )

    @property
    def informers(self) -> tuple[SharedIndexInformer[Deployment], SharedIndexInformer[Foo]]:
        """What is mirrored, for tests and statistics."""
        return self._deployments, self._foos

    def liveness_checks(self) -> Mapping[str, Check]:
        """`/healthz`: the process answers and no worker has died."""
        return {"ping": lambda: None, "workers": self._workers_check}

    def readiness_checks(self) -> Mapping[str, Check]:
        """`/readyz`: the caches are filled, the workers alive, and no stop was asked for."""
        return {
            "informers-synced": self._synced_check,
            "workers": self._workers_check,
            "shutdown": stopped_check(self._stop),
        }

    def run(self) -> None:
        """
        Work until stop is set, then stop everything in order.

        Blocks: until then, and then at most the shutdown timeout and a few seconds for events and sockets.
        """
        hint = self._spawn("hint", self._say_nothing_to_do)
        try:
            self._factory.start(self._stop)
            self._controller.run(self._options.workers, self._stop)
        except CachesNotSyncedError as error:
            if not self._stop.is_set():
                raise
            log.info("Stopped before the caches were filled", err=str(error))
        finally:
            self._stop.set()
            self._factory.shutdown()
            self._broadcaster.shutdown()
            hint.join()

    def _say_nothing_to_do(self) -> None:
        """E15, once: the caches are filled, and there is no Foo to be seen."""
        while not self._clock.sleep(NOTHING_TO_DO_SECONDS, self._stop):
            statistics = self._foos.statistics()
            if not statistics.synced:
                continue
            if not (statistics.objects or statistics.quarantined or self._controller.statistics().synced):
                problem = nothing_to_do("Foo", self._options.namespace, self._count_elsewhere())
                log.info(problem.what, **problem.facts())
            return

    def _count_elsewhere(self) -> int | None:
        """How many Foos all namespaces hold, when we watch one; None when we do not, or may not ask."""
        if not self._options.namespace:
            return None
        try:
            page = self._client.resource(Foo).list(options=ListOptions(limit=1))
        except ClientError:
            return None
        return len(page.items) + (page.remaining_item_count or 0)

    def _synced_check(self) -> str | None:
        waiting = [i.kind.resource.plural for i in self.informers if not i.has_synced()]
        return f"no complete list yet of {', '.join(waiting)}" if waiting else None

    def _workers_check(self) -> str | None:
        if self._synced_check() or self._stop.is_set():
            return None
        wanted, alive = self._options.workers, self._controller.statistics().workers_alive
        return f"{alive} of {wanted} are alive" if alive < wanted else None
