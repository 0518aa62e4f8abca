from __future__ import annotations

from functools import partial

import pytest

from support.checks.resyncs import assert_idle
from support.rigs.foo_story import is_available, wait_deployment, wait_event
from support.rigs.program import Run
from support.servers.cluster import Cluster, Object, usual_definition


@pytest.fixture(params=["stock", "no-status"])
def definition(request: pytest.FixtureRequest) -> Object:
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
    if request.param == "stock":
        parts["status"] = {"type": "object", "properties": {"availableReplicas": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": parts}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    definition["spec"]["versions"] = [version]
    return definition


def test_a_definition_without_status_is_reported_once(cluster: Cluster, run: Run) -> None:
    """Where the server takes no status that is logged once and not tried for ever; all else works."""
    with run("--resync=1s") as program:
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
