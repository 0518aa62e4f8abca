from __future__ import annotations

from support.cluster import Cluster
from support.foo_story import tell_story, wait_available, wait_deployment, wait_event
from support.program import Run


def test_a_foo_lives(cluster: Cluster, run: Run) -> None:
    """A Foo makes a Deployment, heals it, scales it, shows what is available, and takes it along."""
    with run() as program:
        program.wait_ready()
        tell_story(cluster)
        assert program.stop() == 0
