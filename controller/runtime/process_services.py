"""
The services that a manager needs in its process: connections, metrics, page servers, and the lease.

Only this module assembles them. `main` and Manager.from_config use it.
Decision: One place for the services of a manager.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Final, Protocol, Self

from prometheus_client import CollectorRegistry

from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.rest_client import Reachability
from handloop.client.transport import HTTPTransport, Transport
from handloop.controller.runtime.metrics.metrics_page import new_registry
from handloop.controller.runtime.metrics.rest_client_metrics import ClientMetrics
from handloop.controller.runtime.servers import Pages, Servers
from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics
from handloop.controller.runtime.serving.health import Check
from handloop.controller.runtime.serving.page_server import Page
from handloop.seams.seams import REAL_SEAMS, Seams

NO_PAGES: Final = Pages()
NOT_SERVED: Final = "off"


class ManagerToServe(Protocol):
    """The part of a manager that its services use."""

    def liveness_checks(self) -> Mapping[str, Check]:
        """Checks of `/healthz`."""

    def readiness_checks(self) -> Mapping[str, Check]:
        """Checks of `/readyz`."""

    def why_page(self) -> Page:
        """Return the page `/why`."""


class Closing(Protocol):
    """Something to close at the end, such as an Election."""

    def close(self) -> None:
        """Close it."""


class ProcessServices:
    """
    The services of one manager. Its `with` block serves the pages, and closes everything at the end.

    Fields: metrics and health, the addresses of the pages, or `off`. Threads: only the main thread.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        user_agent: str,
        pages: Pages = NO_PAGES,
        registry: CollectorRegistry | None = None,
        qps: float = 0,
        burst: int = 0,
        stop: threading.Event | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Prepare the services. No connection is opened.

        Args: pages contains the addresses of the pages. If registry is None, a new one is created. If burst
        is 0, it is twice qps. The other arguments have the same meaning as in Client.
        """
        self.registry = new_registry() if registry is None else registry
        self.client_metrics = ClientMetrics(self.registry)
        self.metrics = self.health = NOT_SERVED
        self._servers: Servers | None = None
        self._manager: ManagerToServe | None = None
        self._also_ready: dict[str, Check] = {}
        self._last: list[Closing] = []
        self._user_agent = user_agent
        self._pages = pages
        self._qps = qps
        self._burst = burst
        self._stop = stop
        self._seams = seams
        self._drop_managed_fields = not config.disable_compression
        self._transport = HTTPTransport(config, metrics=self.client_metrics, seams=seams)
        self.client = self._client_over(self._transport)

    def client_within(self, request_seconds: float) -> Client:
        """Return a client with the same connections and rate limit, but with this time limit per request."""
        return self._client_over(self._transport.within(request_seconds), self.client.reachability)

    def _client_over(self, transport: Transport, reachability: Reachability | None = None) -> Client:
        return Client(
            transport,
            qps=self._qps,
            burst=self._burst or math.ceil(2 * self._qps),
            metrics=self.client_metrics,
            user_agent=self._user_agent,
            seams=self._seams,
            stop=self._stop,
            reachability=reachability,
            drop_managed_fields=self._drop_managed_fields,
        )

    def attach(self, manager: ManagerToServe, *closing: Closing) -> None:
        """
        Answer probes with the manager's checks. Before this call, the process is alive but not ready.

        Args: closing are objects to close at the end, after the servers have stopped.
        """
        self._manager = manager
        self._last += closing
        self._show()

    def also_ready(self, name: str, check: Check) -> None:
        """Add a check to `/readyz`, before attach."""
        self._also_ready[name] = check

    def _show(self) -> None:
        if self._servers is not None and (manager := self._manager) is not None:
            self._servers.show(
                manager.liveness_checks,
                lambda: {**manager.readiness_checks(), **self._also_ready},
                manager.why_page(),
            )

    @property
    def certificates(self) -> CertificateMetrics | None:
        """Return the metrics of certificate reads, which other servers also use; None before __enter__."""
        return None if self._servers is None else self._servers.certificates

    def __enter__(self) -> Self:
        """Bind and serve. Raises: ListenError."""
        try:
            self._servers = Servers(self._pages, self.registry, self.client, self._seams.clock)
        except BaseException:
            self._close()
            raise
        self.metrics, self.health = self._servers.metrics, self._servers.health
        self._show()
        self._servers.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._servers is not None
        try:
            self._servers.stop()
        finally:
            self._close()

    def _close(self) -> None:
        for each in (*self._last, self._transport):
            each.close()
