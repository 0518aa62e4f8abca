"""Clients for Leases: nothing of theirs waits, or is sent twice."""

from __future__ import annotations

import pytest

from handloop.client.config import ClientConfig
from handloop.client.errors import APIError
from handloop.client.resource_client import Client
from handloop.client.rest_client import Reachability
from handloop.controller.runtime.election.lease_connections import LeaseConnections, leases_over
from support.doubles.scripted_transport import ScriptedTransport, answer


def busy() -> ScriptedTransport:
    """A server that asks to come again."""
    return ScriptedTransport([answer(503, Retry_After="1")])


def test_a_request_for_a_lease_is_sent_once() -> None:
    """The elector repeats it, in its own rhythm; over connections of their own and over others."""
    for transport in (own := busy(), others := busy()):
        if transport is own:
            connections = LeaseConnections(ClientConfig(host="http://x"), user_agent="u", transport=own)
            leases = connections.leases(Reachability())
            connections.close()
        else:
            leases = leases_over(Client(others))
        with pytest.raises(APIError):
            leases.get("l", namespace="default")
        assert len(transport.sent) == 1
