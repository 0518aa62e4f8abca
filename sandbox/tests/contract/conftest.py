"""The servers of contract tests, and a custom resource: defined once per server, in a group of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from support.builders.widgets import CRDS, Widgets, wait_until_served, widget_definition
from support.servers.api_server import APIServer
from support.servers.both_servers import namespace, server

__all__ = ("namespace", "server")


@pytest.fixture(scope="session")
def widget_group(server: APIServer) -> Iterator[str]:
    """The group of the custom resource, established."""
    group = f"c{uuid.uuid4().hex[:8]}.contract.example.com"
    assert server.create(CRDS, widget_definition(group)).status == 201
    wait_until_served(server, group, "widgets")
    yield group
    server.delete(f"{CRDS}/widgets.{group}")


@pytest.fixture
def widgets(server: APIServer, namespace: str, widget_group: str) -> Widgets:
    """The custom resource in the test's namespace."""
    return Widgets(server, widget_group, namespace)
