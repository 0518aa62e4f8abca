from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from support.checks.resyncs import assert_idle
from support.rigs.foo_story import is_available, wait_deployment, wait_event
from support.rigs.program import running
from support.servers.cluster import (
    Cluster,
    Object,
    arguments_for,
    real_cluster,
    sandbox_cluster,
    usual_definition,
)

Open = Callable[[Object], Cluster]


def stock_definition(*, status: bool) -> Object:
    """sample-controller's crd.yaml: no subresource, with or without status in the schema."""
    definition = usual_definition()
    spec = {
        "type": "object",
        "properties": {
            "deploymentName": {"type": "string"},
            "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
        },
    }
    parts = {"spec": spec}
    if status:
        parts["status"] = {"type": "object", "properties": {"availableReplicas": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": parts}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    definition["spec"]["versions"] = [version]
    return definition


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def open_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens each cluster with a definition of the test's."""
    with ExitStack() as stack:

        def enter(definition: Object) -> Cluster:
            if request.param == "real":
                return stack.enter_context(real_cluster(definition))
            return stack.enter_context(sandbox_cluster(tmp_path, definition=definition))

        yield enter


@pytest.mark.parametrize("status", [True, False], ids=["stock", "no-status"])
def test_a_definition_without_status_is_reported_once(
    open_cluster: Open, tmp_path: Path, status: bool
) -> None:
    """Where the server takes no status that is logged once and not tried for ever; all else works."""
    cluster = open_cluster(stock_definition(status=status))
    with running(*arguments_for(cluster), "--resync=1s", folder=tmp_path) as program:
        program.wait_line("handloop errors E08")
        program.wait_ready()
        for name in ("one", "two"):
            cluster.create_foo(name, replicas=1)
            wait_deployment(cluster, name, replicas=1)
            cluster.wait(cluster.deployments, partial(is_available, name=name, replicas=1), "available")
            wait_event(cluster, name, "Synced")
        cluster.change(cluster.foos, "one", {"spec": {"replicas": 2}})
        wait_deployment(cluster, "one", replicas=2)
        cluster.wait(cluster.deployments, partial(is_available, name="one", replicas=2), "available")
        assert_idle(program, cluster, cluster.foos, cluster.deployments, name="foo", resyncs=4)
        assert len(program.lines_with("status updates are ignored.*E08")) == 1
        assert "status" not in cluster.get(cluster.foos, "one")
        cluster.delete(cluster.foos, "one")
        cluster.wait(cluster.deployments, lambda found: "one" not in found, "gone")
        assert program.stop() == 0
