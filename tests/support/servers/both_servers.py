"""
The servers that contract tests run on: the sandbox, and a real one when TEST_KUBECONFIG names its kubeconfig.

Every test has a namespace of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest

from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig, load_config
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop_sandbox.server import Sandbox
from support.servers.api_server import APIServer, Endpoint, endpoint_of
from support.servers.turns import real_kubeconfig


@pytest.fixture(scope="session", params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def server(request: pytest.FixtureRequest) -> Iterator[APIServer]:
    """One of the servers."""
    if request.param == "real":
        with APIServer(endpoint_of(real_kubeconfig()), real=True) as server:
            yield server
        return
    with (
        Sandbox(speed=20.0, seed=1) as sandbox,
        APIServer(Endpoint(sandbox.url, sandbox.token), real=False) as server,
    ):
        yield server


@pytest.fixture
def client(server: APIServer) -> Iterator[Client]:
    """A client of it, as its administrator."""
    config = ClientConfig(
        host=server.endpoint.url, credentials=StaticCredentials(f"Bearer {server.endpoint.token}")
    )
    if server.real:
        config = load_config(kubeconfig=str(real_kubeconfig()))
    with closing(HTTPTransport(config)) as transport:
        yield Client(transport)


@pytest.fixture
def namespace(server: APIServer) -> Iterator[str]:
    """A new namespace."""
    name = f"contract-{uuid.uuid4().hex[:10]}"
    created = server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    assert created.status == 201, created
    yield name
    server.remove_namespace(name)
