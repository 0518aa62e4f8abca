"""Separate connections for Leases, so that a busy controller cannot delay a renewal."""

from __future__ import annotations

import threading

from handloop.apis.coordination_v1 import Lease
from handloop.client.config import ClientConfig
from handloop.client.request_reports import NO_METRICS, RequestMetrics
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.rest_client import Reachability
from handloop.client.transport import HTTPTransport, Transport
from handloop.seams.seams import REAL_SEAMS, Seams


def leases_over(client: Client) -> ResourceClient[Lease]:
    """Return a client for Leases that neither waits nor retries. The caller decides when to retry."""
    stopped = threading.Event()
    stopped.set()
    return client.until(stopped).resource(Lease)


class LeaseConnections:
    """A separate transport for clients of Leases."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        user_agent: str,
        metrics: RequestMetrics = NO_METRICS,
        transport: Transport | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Prepare the connections. No request is sent.

        Args: user_agent is sent to the server; if transport is None, connections are created from config.
        """
        self._user_agent = user_agent
        self._metrics = metrics
        self._seams = seams
        self._drop_managed_fields = not config.disable_compression
        self._connections: HTTPTransport | None = None
        if transport is None:
            transport = self._connections = HTTPTransport(config, metrics=metrics, seams=seams)
        self._transport = transport

    def leases(self, reachability: Reachability) -> ResourceClient[Lease]:
        """Return a client that uses these connections; see leases_over."""
        client = Client(
            self._transport,
            metrics=self._metrics,
            user_agent=self._user_agent,
            seams=self._seams,
            reachability=reachability,
            drop_managed_fields=self._drop_managed_fields,
        )
        return leases_over(client)

    def close(self) -> None:
        """Give the connections back."""
        if self._connections is not None:
            self._connections.close()
