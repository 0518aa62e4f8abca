from __future__ import annotations

from support.rigs.foo_story import events_of, wait_available, wait_deployment, wait_event
from support.rigs.program import Run
from support.servers.cluster import Cluster, foo, nobodys_deployment


def test_a_foo_that_was_there_before_is_found(cluster: Cluster, run: Run) -> None:
    """Without replicas in the Foo the server's default is left alone, and the available ones are shown."""
    cluster.create(cluster.foos, foo("early", {"deploymentName": "early"}))
    with run():
        wait_deployment(cluster, "early", replicas=1)
        wait_available(cluster, "early", 1)


def test_no_first_apply_of_a_foo_fails(cluster: Cluster, run: Run) -> None:
    """Fifty in a row: the cache lags behind each of our writes, and no sync takes that for a failure."""
    names = [f"first-{number}" for number in range(50)]
    with run("-v4") as program:
        program.wait_ready()
        for name in names:
            cluster.create_foo(name, replicas=1)
            program.wait_line(f"Wrote.* {cluster.namespace}/{name} created")
        for name in names:
            wait_available(cluster, name, 1)
        assert not program.lines_with(r"^[EW]\d{4} |Error syncing|another writer|AlreadyExists")
        assert program.stop() == 0


def test_a_foreign_deployment_is_left_alone(cluster: Cluster, run: Run) -> None:
    """A Deployment without an owner is never written, the Foo gets a Warning, and works once it is gone."""
    cluster.create(cluster.deployments, nobodys_deployment("taken"))
    before = cluster.wait(
        cluster.deployments,
        lambda found: (
            found["taken"].get("status", {}).get("availableReplicas") == 1
            and any(c["reason"] == "NewReplicaSetAvailable" for c in found["taken"]["status"]["conditions"])
        ),
        "rolled out",
    )["taken"]
    with run() as program:
        cluster.create_foo("wants-taken", replicas=2, deployment="taken")
        event = wait_event(cluster, "wants-taken", "ErrResourceExists", count=3)
        assert event["type"] == "Warning"
        assert event["message"] == 'Resource "taken" already exists and is not managed by Foo'
        program.wait_line("exists and is not managed by Foo .*E14")
        assert cluster.get(cluster.deployments, "taken") == before
        assert not events_of(cluster.list(cluster.events), "wants-taken", "Synced")

        cluster.delete(cluster.deployments, "taken")
        wait_deployment(cluster, "taken", replicas=2, not_uid=before["metadata"]["uid"])
        wait_available(cluster, "wants-taken", 2)
        wait_event(cluster, "wants-taken", "Synced")
