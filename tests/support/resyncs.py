"""Whether anything is written while nothing changes."""

from __future__ import annotations

import re

from support.cluster import Cluster
from support.deadline import until
from support.program import Program


def queued(program: Program, name: str = "foo") -> float:
    """How often a key became ready for a worker of a controller."""
    page = program.page("metrics", "/metrics")[1]
    match = re.search(rf'^workqueue_adds_total{{[^}}]*name="{name}"[^}}]*}} (\S+)$', page, re.MULTILINE)
    assert match, page
    return float(match[1])


def wait_resyncs(program: Program, count: int) -> None:
    """Wait until Foos have been queued so often by resyncs."""
    before = queued(program)
    until(lambda: queued(program) >= before + count, f"resynced {count} times", seconds=count + 15.0)


def versions(cluster: Cluster) -> dict[str, dict[str, str]]:
    """The resource version of everything that the program may write."""
    return {
        collection: {n: o["metadata"]["resourceVersion"] for n, o in cluster.list(collection).items()}
        for collection in (cluster.foos, cluster.deployments, cluster.events)
    }
