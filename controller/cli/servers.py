"""The servers of the program's own pages: metrics and health."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prometheus_client import CollectorRegistry

from handloop.client.rest_client import RESTClient
from handloop.controller.cli.bind_address import BindAddress
from handloop.controller.cli.options import Options
from handloop.controller.cli.program import Program
from handloop.controller.runtime.metrics.metrics_page import metrics_page
from handloop.controller.runtime.serving.certificate_watcher import (
    CERTIFICATE,
    KEY,
    CertificateMetrics,
    CertificateWatcher,
)
from handloop.controller.runtime.serving.health import health_page
from handloop.controller.runtime.serving.listening import ListenError
from handloop.controller.runtime.serving.metrics_auth import MetricsAuth
from handloop.controller.runtime.serving.page_server import Guard, Page, PageServer
from handloop.workqueue.clock import Clock
from handloop.workqueue.locks import new_lock


class Servers:
    """
    The metrics and health servers: bound by the constructor, serving inside the context.

    State: _program, None until show(); written by main, read by the threads that answer, under _lock.
    """

    def __init__(self, options: Options, registry: CollectorRegistry, rest: RESTClient, clock: Clock) -> None:
        """
        Bind.

        Args: rest asks who may read the metrics, if that is wanted.
        Raises: ListenError for a port or a certificate that cannot be used.
        """
        self._servers: list[PageServer] = []
        # a proxy in the same pod hands on the Host of its clients; there is no browser beside it
        self._any_host = options.in_cluster
        self._lock = new_lock("Servers._lock", 95)
        self._program: Program | None = None
        try:
            certificates = CertificateMetrics(registry)
            self.metrics = self._bind(
                options.metrics_bind_address,
                "metrics",
                {"/metrics": metrics_page(registry)},
                tls=_certificate(options, certificates, clock),
                guard=MetricsAuth(rest, clock) if options.metrics_auth else None,
            )
            self.health = self._bind(
                options.health_probe_bind_address,
                "health",
                {"/healthz": self._live, "/livez": self._live, "/readyz": self._ready},
            )
        except BaseException:
            self._stop()
            raise

    def show(self, program: Program) -> None:
        """Answer for a program from here on; until then it is alive and not ready."""
        with self._lock:
            self._program = program

    def _shown(self) -> Program | None:
        with self._lock:
            return self._program

    def _live(self, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        program = self._shown()
        return health_page({"ping": _well} if program is None else program.liveness_checks())(query)

    def _ready(self, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        program = self._shown()
        return health_page({"preflight": _starting} if program is None else program.readiness_checks())(query)

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


def _well() -> None:
    """Nothing is wrong."""


def _starting() -> str:
    return "not finished"
