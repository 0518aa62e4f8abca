"""Runs the chosen controllers on one manager, and reports E15 if they have no object to work on."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from handloop.client.access_review import Permission, check_access
from handloop.client.errors import ClientError
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.cli.operator import Setup
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_OK, Problem
from handloop.controller.cli.replicas import replicas_of
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.life.runnable import Runnable
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics
from handloop.informers.informer_options import DEFAULT_OPTIONS, InformerOptions
from handloop.informers.outage import Hints
from handloop.informers.progress import INTERVAL_SECONDS, TTY_INTERVAL_SECONDS
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("controller")

NOTHING_TO_DO_SECONDS: Final = 15.0
_HINT_SECONDS: Final = 1.0


class Program:
    """
    The running part of a program: a manager with the chosen controllers.

    Threads: main calls `run`; the thread `hint` checks whether objects exist.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        stop: threading.Event,
        *,
        registry: CollectorRegistry,
        manager_options: Mapping[str, Any] = MappingProxyType({}),
        certificates: CertificateMetrics | None = None,
        on_terminal: bool = False,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Set up the chosen controllers. No requests are sent before run.

        Args: manager_options are further options for Manager. certificates are the metrics about certificates
        in the registry, or None if there are no such metrics. If on_terminal is set, progress is logged more
        often.
        """
        self._client = client
        self._stop = stop
        self._seams = seams
        self._namespaces = options.namespaces
        self._labels = options.namespace_labels
        operator = options.operator
        # A missing CRD is logged, and the controller starts once the CRD is installed.
        self.manager = Manager(
            client,
            namespaces=self._labels or self._namespaces,
            informer_options=informer_options(options, on_terminal=on_terminal),
            controller_options=ControllerOptions(
                max_concurrent_reconciles=options.workers,
                shutdown_timeout_seconds=options.shutdown_timeout,
                cache_sync_timeout_seconds=math.inf,
            ),
            registry=registry,
            seams=seams,
            **manager_options,
        )
        operator.set_up(self.manager, options.controllers)
        _convert(self.manager, client, options, certificates)
        watched = self.manager.cached_kinds()
        mirrored = {
            setup: [self.manager.informer_for(kind) for kind in setup.kinds if kind in watched]
            for setup in options.setups()
        }
        hints = not replicas_of(options).divides_objects
        self._mirrored = [(setup, informers) for setup, informers in mirrored.items() if informers and hints]

    @property
    def controllers(self) -> Mapping[str, Runnable]:
        """The controllers by name."""
        return self.manager.runnables()

    def run(self) -> None:
        """
        Run until stop is set, then stop everything in order.

        Raises: the same errors as Manager.run.
        Blocks: until stop is set and Manager.run has returned, and then up to one second more for the thread
        `hint`.
        """
        hint = self._seams.spawn("hint", self._say_nothing_to_do)
        try:
            self.manager.run(self._stop)
        finally:
            self._stop.set()
            # The thread may be waiting for an answer that never arrives.
            hint.join(_HINT_SECONDS)

    def _say_nothing_to_do(self) -> None:
        """When the caches are filled, report E15 if they contain no object of our kinds."""
        while not self._seams.clock.sleep(NOTHING_TO_DO_SECONDS, self._stop):
            known = [(setup, mine) for setup, mine in self._mirrored if all(one.has_synced() for one in mine)]
            if self._mirrored and not known:
                continue
            if known and not any(_holds_any(one) for _, mine in known for one in mine):
                idle = [setup for setup, _ in known]
                problem = nothing_to_do(
                    idle, self._namespaces, self._count_elsewhere(idle), labels=self._labels
                )
                log.info(problem.what, **problem.facts())
            return

    def _count_elsewhere(self, idle: Sequence[Setup]) -> int | None:
        """
        Count the objects in all namespaces.

        Return None if all namespaces are watched anyway, or if the objects cannot be listed.
        """
        if not self._namespaces:
            return None
        try:
            # Check the permission first, so that a program with roles in only some namespaces causes no 403.
            kinds = [kind for setup in idle for kind in setup.kinds]
            for kind in kinds:
                if not check_access(self._client, Permission("list", kind.resource)).allowed:
                    return None
            first = ListOptions(limit=1)
            pages = [self._client.resource(kind).list(options=first) for kind in kinds]
        except ClientError:
            return None
        return sum(len(page.items) + (page.remaining_item_count or 0) for page in pages)


def informer_options(options: Options, *, on_terminal: bool = False) -> InformerOptions:
    """
    Return the operator's InformerOptions with the changes from the command line.

    Args: if on_terminal is set, progress is logged more often.
    """
    operator = options.operator
    return replace(
        operator.informer_options() or DEFAULT_OPTIONS,
        resync_seconds=options.resync,
        progress_seconds=TTY_INTERVAL_SECONDS if on_terminal else INTERVAL_SECONDS,
        hints=Hints(
            crd_command=operator.crd_command,
            crds=frozenset(kind.resource for setup in options.setups() for kind in setup.kinds),
            rbac_command=operator.rbac_command,
        ),
    )


def _convert(
    manager: Manager, client: Client, options: Options, certificates: CertificateMetrics | None
) -> None:
    """
    Add the conversion webhook to a manager that reconciles a kind with conversion functions.

    Raises: ListenError if the webhook cannot listen on its address.
    """
    kinds = [kind for kind in manager.reconciled_kinds() if kind.previous is not None]
    if not kinds:
        return
    # imported here, because most programs convert no objects
    from handloop.controller.cli.webhook import (  # noqa: PLC0415
        any_is_converted,
        webhook_address,
        webhook_service,
    )

    if not any_is_converted(kinds):
        return
    service = webhook_service(options)
    if not (options.in_cluster or service.url):
        what = "Outside the cluster, objects are not converted without --webhook-url=https://HOST:PORT"
        log.warning(what, kinds=[kind.__name__ for kind in manager.reconciled_kinds()])
        return
    # imported here, because most programs convert no objects
    from handloop.controller.runtime.conversion.conversion import (  # noqa: PLC0415
        ConversionOptions,
        add_conversion,
    )

    address = webhook_address(options)
    given = ConversionOptions(address=address, webhook=service, folder=options.webhook_cert_dir)
    add_conversion(manager, client, given, certificates)


def _holds_any(informer: MultiNamespaceInformer[Any]) -> bool:
    """Return whether the cache contains an object or has quarantined one."""
    statistics = [part.statistics() for part in informer.informers]
    return any(one.objects or one.quarantined for one in statistics)


def nothing_to_do(
    idle: Sequence[Setup], namespaces: Sequence[str], elsewhere: int | None = None, *, labels: str = ""
) -> Problem:
    """
    Return the problem E15: the program runs, but has no object to work on.

    Args: idle are the controllers without an object. namespaces are the watched ones, or () for all.
    elsewhere is the number of objects in other namespaces, or None if unknown. labels is the label selector
    for the watched namespaces, or "".
    """
    kinds = [kind.resource for setup in idle for kind in setup.kinds]
    in_namespaces = any(resource.namespaced for resource in kinds)
    namespace = ",".join(namespaces) if in_namespaces else ""
    anywhere = f"in a namespace with {labels}" if labels else "in any namespace"
    everywhere = anywhere if in_namespaces else "in the cluster"
    where = f'in namespace "{namespace}"' if namespace else everywhere
    others = f" ({elsewhere} in other namespaces)" if namespace and elsewhere is not None else ""
    there = f" -n {namespaces[0]}" if namespace else ""
    fixes = list(dict.fromkeys(setup.sample_fix(there) for setup in idle))
    if namespace:
        fixes.insert(0, f"-A   (instead of -n {namespace}: watch all namespaces)")
    return Problem(
        code="E15",
        exit_code=EXIT_OK,
        severity="info",
        what=f"no {' or '.join(resource.kind for resource in kinds)} {where}{others}",
        causes=("the controller is running, but has no object to work on",),
        fixes=tuple(fixes),
    )
