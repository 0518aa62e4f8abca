from __future__ import annotations

from support.checks.resyncs import assert_idle
from support.rigs.foo_story import wait_available, wait_event
from support.rigs.program import Run
from support.servers.cluster import Cluster, RealCluster

RESYNCS = 5


def test_a_steady_state_is_not_written(cluster: Cluster, run: Run) -> None:
    """Five resyncs after the last change there has been no write: no status, no Deployment, no event."""
    with run("--resync=1s") as program:
        program.wait_ready()
        cluster.create_foo("calm", replicas=2)
        wait_available(cluster, "calm", 2)
        wait_event(cluster, "calm", "Synced", count=2)
        written = assert_idle(
            program, cluster, cluster.foos, cluster.deployments, name="foo", resyncs=RESYNCS
        )
        assert isinstance(cluster, RealCluster) or written.writes > 0
