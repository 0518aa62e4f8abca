"""A sandbox for each test, and silence in the log: every fault is a warning of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.checks.captured_logs import captured_logs
from support.servers.faulty_cluster import FaultyCluster, Mirror, faulty_cluster, mirrored


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with captured_logs():
        yield


@pytest.fixture
def cluster() -> Iterator[FaultyCluster]:
    """A running sandbox with Foos."""
    with faulty_cluster() as opened:
        yield opened


@pytest.fixture
def mirror(cluster: FaultyCluster) -> Iterator[Mirror]:
    """An informer of Foos that has seen the first one."""
    cluster.create_foo("first")
    with mirrored(cluster) as started:
        started.wait_equal()
        yield started
