"""The clusters that the whole program is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.rigs.program import Program, Run, running
from support.servers.cluster import (
    EITHER,
    Cluster,
    Object,
    SandboxCluster,
    arguments_for,
    real_cluster,
    sandbox_cluster,
    usual_definition,
)


@pytest.fixture
def definition() -> Object:
    """The definition of Foo: that from manifests/crd, unless a module has another one."""
    return usual_definition()


@pytest.fixture(params=EITHER)
def cluster(request: pytest.FixtureRequest, tmp_path: Path, definition: Object) -> Iterator[Cluster]:
    """Each of the clusters, with the definition."""
    chosen = (
        real_cluster(definition)
        if request.param == "real"
        else sandbox_cluster(tmp_path, definition=definition)
    )
    with chosen as opened:
        yield opened


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[SandboxCluster]:
    """The sandbox, for requests that must be counted, refused or broken."""
    with sandbox_cluster(tmp_path, definition=usual_definition()) as opened:
        yield opened


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Start the program on the test's cluster."""
    name = "cluster" if "cluster" in request.fixturenames else "sandbox"
    cluster: Cluster = request.getfixturevalue(name)

    def start(*arguments: str, kubeconfig: Path | None = None) -> AbstractContextManager[Program]:
        return running(*arguments_for(cluster, kubeconfig), *arguments, folder=tmp_path)

    return start
