"""The servers that the examples are tried on: the sandbox, and a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.checks.output import Printed
from support.rigs.example_cluster import ExampleCluster, example_cluster
from support.servers.cluster import EITHER


@pytest.fixture(params=EITHER)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleCluster]:
    """A namespace with the module's KINDS, on one server by day."""
    with example_cluster(request.param, tmp_path, *request.module.KINDS) as made:
        yield made


@pytest.fixture
def sandbox(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ExampleCluster]:
    """The same on the sandbox, for faults."""
    with example_cluster("sandbox", tmp_path, *request.module.KINDS) as made:
        yield made


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """The output of examples."""
    return Printed(capsys)
