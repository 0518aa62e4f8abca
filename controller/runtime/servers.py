"""The servers of a program's metrics and health pages."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry

from handloop.client.rest_client import RESTClient
from handloop.controller.runtime.metrics.metrics_page import metrics_page
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics, certificate_in
from handloop.controller.runtime.serving.health import Check, health_page
from handloop.controller.runtime.serving.listening import NoCertificateError
from handloop.controller.runtime.serving.page_server import TEXT, WHY, Guard, Page, PageServer
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock

Checks = Callable[[], Mapping[str, Check]]
_STARTING: Final[Mapping[str, Checks]] = {
    "live": lambda: {"ping": lambda: None},
    "ready": lambda: {"preflight": lambda: "not finished"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """
    The addresses of the pages, and their protection. An address of None turns a page off.

    Args: any_host answers requests for any host, as in a pod. With metrics_auth, the pages use TLS, and the
    API server decides who may read the metrics. certificate_folder contains tls.crt and tls.key; if it is "",
    the program creates a certificate or, without metrics_auth, serves plain HTTP.
    """

    metrics: BindAddress | None = None
    health: BindAddress | None = None
    any_host: bool = False
    certificate_folder: str = ""
    metrics_auth: bool = False


def _not_yet(_query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
    return 503, TEXT, b"the controllers have not started\n"


class Servers:
    """
    The metrics and health servers. The constructor binds their ports; they answer between start and stop.

    Fields: certificates, the metrics that count how often a certificate was read.
    State, under _lock: _checks, the checks of liveness and readiness; _why, the page /why.
    Threads: the main thread sets the state; the threads that answer requests read it.
    """

    def __init__(self, pages: Pages, registry: CollectorRegistry, rest: RESTClient, clock: Clock) -> None:
        """
        Bind the ports.

        Args: rest is used to ask the API server who may read the metrics.
        Raises: ListenError if a port or a certificate cannot be used.
        """
        self._servers: list[PageServer] = []
        # In a pod, a proxy forwards its clients' Host headers, and no browser runs.
        self._any_host = pages.any_host
        self._lock = new_lock("Servers._lock", 95)
        self._checks = _STARTING
        self._why: Page = _not_yet
        self.certificates = CertificateMetrics(registry)
        live, ready = partial(self._answer, "live"), partial(self._answer, "ready")
        health: dict[str, Page] = {"/healthz": live, "/livez": live, "/readyz": ready}
        try:
            self.metrics = self._bind(
                pages.metrics,
                "metrics",
                {"/metrics": metrics_page(registry), WHY: self._tell_why},
                private=(WHY,),
                tls=_certificate(pages, self.certificates, clock),
                guard=_guard(pages, rest, clock),
            )
            each = {f"{path}/*": page for path, page in health.items()}
            self.health = self._bind(pages.health, "health", health | each)
        except BaseException:
            self.stop()
            raise

    def show(self, live: Checks, ready: Checks, why: Page = _not_yet) -> None:
        """Use these checks from now on. Before that, the program reports that it is alive but not ready."""
        with self._lock:
            self._checks = {"live": live, "ready": ready}
            self._why = why

    def _tell_why(self, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        with self._lock:
            why = self._why
        return why(query)

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
        private: Collection[str] = (),
    ) -> str:
        """Bind a server. Returns: its address in the form that the startup banner shows."""
        if address is None:
            return "off"
        names = None if self._any_host else address.served_names()
        server = PageServer(
            address.host,
            address.port,
            pages,
            purpose=purpose,
            tls=tls,
            guard=guard,
            names=names,
            private=private,
        )
        self._servers.append(server)
        return replace(address, port=server.port).shown

    def start(self) -> None:
        """Serve."""
        for server in self._servers:
            server.start()

    def stop(self) -> None:
        """Stop the servers and close their sockets. Blocks: until their threads have ended."""
        for server in self._servers:
            server.stop()


def _guard(pages: Pages, rest: RESTClient, clock: Clock) -> Guard | None:
    if not pages.metrics_auth:
        return None
    from handloop.controller.runtime.serving.metrics_auth import MetricsAuth  # noqa: PLC0415

    return MetricsAuth(rest, clock)


def _certificate(
    pages: Pages, metrics: CertificateMetrics, clock: Clock
) -> Callable[[], ssl.SSLContext] | None:
    if pages.metrics is None or not (pages.certificate_folder or pages.metrics_auth):
        return None
    if not pages.certificate_folder:
        return _own_certificate(pages.metrics, clock)
    address = str(pages.metrics)
    return certificate_in(pages.certificate_folder, metrics, clock, address=address, purpose="metrics")


def _own_certificate(address: BindAddress, clock: Clock) -> Callable[[], ssl.SSLContext]:
    from handloop.controller.runtime.serving.own_certificate import OwnCertificate  # noqa: PLC0415

    try:
        return OwnCertificate(clock).context
    except ImportError as error:
        why = "cannot create a certificate without the package cryptography: pip install cryptography"
        raise NoCertificateError(str(address), "metrics", why) from error
    except OSError as error:
        raise NoCertificateError(str(address), "metrics", f"cannot create a certificate: {error}") from error
