"""
The servers that contract tests run on: the sandbox, and a real one when TEST_KUBECONFIG names its kubeconfig.

Every test has a namespace of its own; the custom resource is defined once per server, in a group of its own.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop_sandbox.server import Sandbox
from support.builders.widgets import CRDS, Widgets, wait_until_served, widget_definition
from support.servers.api_server import APIServer, Endpoint, endpoint_of


@pytest.fixture(scope="session", params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def server(request: pytest.FixtureRequest) -> Iterator[APIServer]:
    """One of the servers."""
    if request.param == "real":
        path = os.environ.get("TEST_KUBECONFIG")
        if not path:
            pytest.skip("TEST_KUBECONFIG names no real server")
        with APIServer(endpoint_of(Path(path)), real=True) as server:
            yield server
        return
    with (
        Sandbox(speed=20.0, seed=1) as sandbox,
        APIServer(Endpoint(sandbox.url, sandbox.token), real=False) as server,
    ):
        yield server


@pytest.fixture
def namespace(server: APIServer) -> Iterator[str]:
    """A new namespace."""
    name = f"contract-{uuid.uuid4().hex[:10]}"
    created = server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    assert created.status == 201, created
    yield name
    server.remove_namespace(name)


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
