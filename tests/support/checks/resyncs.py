"""Whether anything is written while nothing changes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from handloop.testing.eventually import eventually as until
from support.rigs.program import Program
from support.servers.cluster import Cluster, SandboxCluster

OURS: Final = ("Foo", "MyApp")
"""Components to which only the program sends events."""


class Written(NamedTuple):
    """
    Shows writes by the resource version of everything that the program may write, by collection and name.

    writes: how many requests to write it has sent, 0 where they are not counted.
    """

    versions: dict[str, dict[str, str]]
    writes: int


def queued(program: Program, name: str = "foo") -> float:
    """How often a key became ready for a worker of a controller."""
    page = program.page("metrics", "/metrics")[1]
    match = re.search(rf'^workqueue_adds_total{{[^}}]*name="{name}"[^}}]*}} (\S+)$', page, re.MULTILINE)
    assert match, page
    return float(match[1])


def wait_resyncs(program: Program, count: int, name: str = "foo") -> None:
    """Wait until the objects of a controller have been queued so often by resyncs."""
    before = queued(program, name)
    what = f"resynced {count} times"
    until(lambda: queued(program, name) >= before + count, what, seconds=count + 15.0)


def written(cluster: Cluster, *collections: str) -> Written:
    """What there is in collections, and the program's events."""
    found = {collection: cluster.list(collection) for collection in (*collections, cluster.events)}
    for name, event in list(found[cluster.events].items()):
        if event["involvedObject"]["kind"] not in OURS:
            del found[cluster.events][name]
    versions = {
        collection: {name: obj["metadata"]["resourceVersion"] for name, obj in objects.items()}
        for collection, objects in found.items()
    }
    return Written(versions, cluster.trace.writes() if isinstance(cluster, SandboxCluster) else 0)


def assert_idle(program: Program, cluster: Cluster, *collections: str, name: str, resyncs: int) -> Written:
    """Resyncs of a controller whose objects have settled write nothing. Returns: what there is."""

    def settled() -> Written | None:
        # changes by others, and Events, come later than their causes
        before = written(cluster, *collections)
        wait_resyncs(program, 2, name)
        return before if written(cluster, *collections) == before else None

    before = until(settled, "settled", seconds=cluster.seconds)
    assert before is not None
    wait_resyncs(program, resyncs, name)
    assert written(cluster, *collections) == before
    return before
