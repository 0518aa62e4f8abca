"""The servers of our own pages: metrics and health."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from handloop.client.rest_client import RESTClient
from handloop.controller.cli.options import Options
from handloop.controller.cli.values import BindAddress
from handloop.controller.runtime.metrics.metrics_page import metrics_page
from handloop.controller.runtime.serving.certificate_watcher import (
    CERTIFICATE,
    KEY,
    CertificateMetrics,
    CertificateWatcher,
)
from handloop.controller.runtime.serving.health import Check, health_page
from handloop.controller.runtime.serving.listening import ListenError
from handloop.controller.runtime.serving.page_server import Guard, Page, PageServer
from handloop.workqueue.seams import Clock, new_lock

Checks = Callable[[], Mapping[str, Check]]
_STARTING: Final[Mapping[str, Checks]] = {
    "live": lambda: {"ping": lambda: None},
    "ready": lambda: {"preflight": lambda: "not finished"},
}


class Servers:
    """
    The metrics and health servers: bound by the constructor, serving inside the context.

    State: _checks of liveness and readiness, written by main, read by the threads that answer, under _lock.
    """

    def __init__(self, options: Options, registry: CollectorRegistry, rest: RESTClient, clock: Clock) -> None:
        """
        Bind.

        Args: rest asks the API server who may read the metrics, with --metrics-auth.
        Raises: ListenError for a port or a certificate that cannot be used.
        """
        self._servers: list[PageServer] = []
        # in a pod a proxy passes on the Host of its clients, and no browser runs beside it
        self._any_host = options.in_cluster
        self._lock = new_lock("Servers._lock", 95)
        self._checks = _STARTING
        live = partial(self._answer, "live")
        try:
            certificates = CertificateMetrics(registry)
            self.metrics = self._bind(
                options.metrics_bind_address,
                "metrics",
                {"/metrics": metrics_page(registry)},
                tls=_certificate(options, certificates, clock),
                guard=_guard(options, rest, clock),
            )
            self.health = self._bind(
                options.health_probe_bind_address,
                "health",
                {"/healthz": live, "/livez": live, "/readyz": partial(self._answer, "ready")},
            )
        except BaseException:
            self._stop()
            raise

    def show(self, live: Checks, ready: Checks) -> None:
        """Answer by these checks from here on. Until then the program is alive and not ready."""
        with self._lock:
            self._checks = {"live": live, "ready": ready}

    def _answer(self, which: str, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        with self._lock:
            checks = self._checks[which]
        return health_page(checks())(query)

    def _bind(
        self,
        address: BindAddress | None,
        purpose: str,
        pages: dict[str, Page],
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        guard: Guard | None = None,
    ) -> str:
        """Returns: the address for the banner."""
        if address is None:
            return "off"
        names = None if self._any_host else address.served_names()
        server = PageServer(
            address.host, address.port, pages, purpose=purpose, tls=tls, guard=guard, names=names
        )
        self._servers.append(server)
        return replace(address, port=server.port).shown

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve for as long as the context lasts."""
        try:
            for server in self._servers:
                server.start()
            yield
        finally:
            self._stop()

    def _stop(self) -> None:
        for server in self._servers:
            server.stop()


def _guard(options: Options, rest: RESTClient, clock: Clock) -> Guard | None:
    if not options.metrics_auth:
        return None
    from handloop.controller.runtime.serving.metrics_auth import MetricsAuth  # noqa: PLC0415

    return MetricsAuth(rest, clock)


def _certificate(
    options: Options, metrics: CertificateMetrics, clock: Clock
) -> Callable[[], ssl.SSLContext] | None:
    if not options.metrics_cert_dir or options.metrics_bind_address is None:
        return None
    folder = Path(options.metrics_cert_dir)
    try:
        return CertificateWatcher(folder, metrics, clock).context
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror or str(error)
        pair = f"{folder / CERTIFICATE} and {KEY}"
        raise ListenError(
            str(options.metrics_bind_address), "metrics", f"{pair}: {reason.lower()}"
        ) from error
