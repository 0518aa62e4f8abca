"""
The chosen controllers on one manager, with what people are told beside.

The order of start and stop is the manager's; a program that is alive and has nothing to do says so once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry

from handloop.apis.meta import Kind
from handloop.client.access import Permission, check_access
from handloop.client.errors import ClientError
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.cli.cached_fields import cached_fields
from handloop.controller.cli.controllers import setups
from handloop.controller.cli.declared import watched_namespaces
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import nothing_to_do
from handloop.controller.runtime.kind_informer import KindInformer
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.serving.health import Check
from handloop.informers.outage import Hints
from handloop.informers.progress import INTERVAL_SECONDS
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("controller")

NOTHING_TO_DO_SECONDS: Final = 15.0
_HINT_SECONDS: Final = 1.0
_HINTS: Final = Hints(
    crd_command="python -m controller manifests crd", rbac_command="python -m controller manifests rbac"
)


class Program:
    """
    Everything between a client and a stop event.

    Threads: main runs `run`; the health server calls the checks; `hint` looks whether there is work.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        stop: threading.Event,
        *,
        registry: CollectorRegistry,
        elect: Callable[[Manager], None] | None = None,
        progress_seconds: float = INTERVAL_SECONDS,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Set the chosen controllers up; nothing is asked of the server before run.

        Args: elect sets leader election up in the manager, where it is wanted.
        """
        self._client = client
        self._stop = stop
        self._clock = clock
        self._spawn = spawn
        self._namespaces = watched_namespaces(options)
        self._setups = setups(options.controllers)
        # whoever waits for a CRD is told what is missing, and goes on by itself when it is there
        self.manager = Manager(
            client,
            namespaces=self._namespaces,
            resync_seconds=options.resync,
            transform=cached_fields,
            registry=registry,
            shutdown_timeout_seconds=options.shutdown_timeout,
            cache_sync_timeout_seconds=math.inf,
            progress_seconds=progress_seconds,
            hints=_HINTS,
            clock=clock,
            spawn=spawn,
        )
        if elect is not None:
            elect(self.manager)
        self.controllers = {setup.name: setup.add(self.manager, options.workers) for setup in self._setups}
        self._mirrored = {setup.name: self.manager.informer_for(setup.kind) for setup in self._setups}

    @property
    def informers(self) -> tuple[SharedIndexInformer[Any], ...]:
        """What is mirrored, for tests and statistics."""
        return tuple(self.manager.informers())

    def liveness_checks(self) -> Mapping[str, Check]:
        """`/healthz`."""
        return self.manager.liveness_checks()

    def readiness_checks(self) -> Mapping[str, Check]:
        """`/readyz`."""
        return self.manager.readiness_checks()

    def run(self) -> None:
        """
        Work until stop is set, then stop everything in order.

        Raises: as Manager.run.
        Blocks: until then, and then as Manager.run, and a second more for a hint.
        """
        hint = self._spawn("hint", self._say_nothing_to_do)
        try:
            self.manager.run(self._stop)
        finally:
            self._stop.set()
            # it may be in a request that nobody answers
            hint.join(_HINT_SECONDS)

    def _say_nothing_to_do(self) -> None:
        """E15, once: the caches are filled, and there is nothing to be seen of what we are about."""
        while not self._clock.sleep(NOTHING_TO_DO_SECONDS, self._stop):
            known = [setup for setup in self._setups if self._mirrored[setup.name].has_synced()]
            if not known:
                continue
            if not any(_holds_any(self._mirrored[setup.name]) for setup in known):
                problem = nothing_to_do(
                    " or ".join(setup.kind.resource.kind for setup in known),
                    self._namespaces,
                    self._count_elsewhere([setup.kind for setup in known]),
                    samples=[setup.sample for setup in known],
                )
                log.info(problem.what, **problem.facts())
            return

    def _count_elsewhere(self, kinds: list[type[Kind]]) -> int | None:
        """How many objects all namespaces hold, when we watch some; None when we do not, or may not ask."""
        if not self._namespaces:
            return None
        try:
            # asked for first: whoever has roles of some namespaces alone is refused nothing
            if not all(self._may_list_everywhere(kind) for kind in kinds):
                return None
            pages = [self._client.resource(kind).list(options=ListOptions(limit=1)) for kind in kinds]
        except ClientError:
            return None
        return sum(len(page.items) + (page.remaining_item_count or 0) for page in pages)

    def _may_list_everywhere(self, kind: type[Kind]) -> bool:
        return check_access(self._client.rest, Permission("list", kind.resource)).allowed


def _holds_any(informer: KindInformer[Any]) -> bool:
    """Whether there is an object of a kind, even if it is one that does not fit."""
    statistics = [part.statistics() for part in informer.informers]
    return any(one.objects or one.quarantined for one in statistics)
