"""
The chosen controllers on one manager.

The manager keeps the order of start and stop. A program without an object to work on says so, once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry

from handloop.apis.meta import Kind
from handloop.client.access_review import Permission, check_access
from handloop.client.errors import ClientError
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.cli.cached_fields import cached_fields
from handloop.controller.cli.controllers import setups
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import nothing_to_do
from handloop.controller.cli.terminal import PROGRAM
from handloop.controller.foo.runnable import add_foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.runtime.kind_informer import KindInformer
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.serving.health import Check
from handloop.informers.outage import Hints
from handloop.informers.progress import INTERVAL_SECONDS, TTY_INTERVAL_SECONDS
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.workqueue.seams import REAL_SEAMS, Seams

log = structlog.get_logger("controller")

ADD: Final[Mapping[str, Callable[..., object]]] = {"foo": add_foo, "myapp": add_myapp}
"""How each controller comes into a manager: (manager, workers=...)."""

NOTHING_TO_DO_SECONDS: Final = 15.0
_HINT_SECONDS: Final = 1.0
_HINTS: Final = Hints(crd_command=f"{PROGRAM} manifests crd", rbac_command=f"{PROGRAM} manifests rbac")


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
        on_terminal: bool = False,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Set the chosen controllers up. Nothing is sent before run.

        Args: elect, if given, sets leader election up in the manager; on_terminal makes progress lines more
        frequent.
        """
        self._client = client
        self._stop = stop
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._namespaces = options.namespaces
        self._setups = setups(options.controllers)
        # a missing CRD may come later: the log says so, and the controller starts when it appears
        self.manager = Manager(
            client,
            namespaces=self._namespaces,
            resync_seconds=options.resync,
            transform=cached_fields,
            registry=registry,
            shutdown_timeout_seconds=options.shutdown_timeout,
            cache_sync_timeout_seconds=math.inf,
            progress_seconds=TTY_INTERVAL_SECONDS if on_terminal else INTERVAL_SECONDS,
            hints=_HINTS,
            seams=seams,
        )
        if elect is not None:
            elect(self.manager)
        self.controllers = {
            setup.name: ADD[setup.name](self.manager, workers=options.workers) for setup in self._setups
        }
        self._mirrored = {setup.name: self.manager.informer_for(setup.kind) for setup in self._setups}

    @property
    def informers(self) -> tuple[SharedIndexInformer[Any], ...]:
        """The informers, for tests and statistics."""
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
            # it may wait for an answer that never comes
            hint.join(_HINT_SECONDS)

    def _say_nothing_to_do(self) -> None:
        """Say E15, once: the caches are filled, and hold no object of our kinds."""
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
        """How many objects all namespaces hold, if we watch only some and may list all; else None."""
        if not self._namespaces:
            return None
        try:
            # asked first, so that a program with roles in some namespaces only is refused nothing
            if not all(self._may_list_everywhere(kind) for kind in kinds):
                return None
            pages = [self._client.resource(kind).list(options=ListOptions(limit=1)) for kind in kinds]
        except ClientError:
            return None
        return sum(len(page.items) + (page.remaining_item_count or 0) for page in pages)

    def _may_list_everywhere(self, kind: type[Kind]) -> bool:
        return check_access(self._client, Permission("list", kind.resource)).allowed


def _holds_any(informer: KindInformer[Any]) -> bool:
    """Whether the cache holds an object, or quarantines one."""
    statistics = [part.statistics() for part in informer.informers]
    return any(one.objects or one.quarantined for one in statistics)
