"""What most tests begin with."""

from __future__ import annotations

import pytest

from handloop_sandbox.storage.store import Store
from support.servers.local_server import LocalServer
from support.servers.simulated_cluster import SimulatedCluster


@pytest.fixture
def server() -> LocalServer:
    """An engine without controllers."""
    return LocalServer()


@pytest.fixture
def cluster() -> SimulatedCluster:
    """The controllers of a sandbox, and a namespace."""
    return SimulatedCluster()


@pytest.fixture
def store() -> Store:
    """An empty one."""
    return Store()
