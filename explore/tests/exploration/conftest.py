"""A cluster with Foos in virtual time, and a Foo for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from handloop.controller.foo.types import Foo
from handloop_explore.cluster import VirtualCluster
from handloop_explore.virtual_threads import VirtualThreads


@pytest.fixture
def threads() -> Iterator[VirtualThreads]:
    with VirtualThreads() as threads:
        yield threads


@pytest.fixture
def cluster(threads: VirtualThreads) -> VirtualCluster:
    return VirtualCluster(threads, (Foo,))
