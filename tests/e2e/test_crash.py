from __future__ import annotations

import random
import threading

import pytest

from handloop.testing.request_attributes import RequestAttributes
from support.rigs.foo_story import wait_available, wait_deployment
from support.rigs.program import Program, Run
from support.servers.cluster import Cluster, SandboxCluster

SEED = 17
REQUESTS = 6
"""First lists of two kinds, create, status, event and its repetition: what one Foo takes."""
MOMENTS = random.Random(SEED).sample(
    [(number, side) for number in range(1, REQUESTS + 1) for side in ("before", "after")], 5
)


def assert_end_state(cluster: Cluster, uid: str) -> None:
    """One Deployment of the Foo's, available, after any fault on the way."""
    wait_available(cluster, "victim", 2)
    deployment = wait_deployment(cluster, "victim", replicas=2)
    assert [owner["uid"] for owner in deployment["metadata"]["ownerReferences"]] == [uid]
    assert list(cluster.list(cluster.deployments)) == ["victim"]
    assert list(cluster.list(cluster.foos)) == ["victim"]


class Killer:
    """Kills the program when it sends its n-th request: before the server has seen it, or after."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.program: Program | None = None
        self.asked: list[RequestAttributes] = []

    def __call__(self, asked: RequestAttributes) -> None:
        self.asked.append(asked)
        if len(self.asked) == self._number:
            assert self.program is not None
            self.program.process.kill()


@pytest.mark.parametrize(("number", "side"), MOMENTS)
def test_killed_at_a_request_it_reaches_the_same_end(
    sandbox: SandboxCluster, run: Run, number: int, side: str
) -> None:
    """Killed before or after the server did what the n-th request asks, the next run completes the work."""
    killer = Killer(number)
    foo = sandbox.create_foo("victim", replicas=2)
    with run() as program:
        killer.program = program
        setattr(sandbox.trace, side, killer)
        assert program.wait() == -9
    sandbox.trace.before = sandbox.trace.after = lambda _asked: None
    with run():
        assert_end_state(sandbox, foo["metadata"]["uid"])


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_a_moment_it_reaches_the_same_end(cluster: Cluster, run: Run, seed: int) -> None:
    """Killed at moments from its first second, twice, the third run completes the work."""
    chance = random.Random(seed)
    foo = cluster.create_foo("victim", replicas=2)
    for _ in range(2):
        with run() as program:
            program.wait_line("Starting Foo controller")
            # the moment is the input of this test, not something it waits for
            threading.Event().wait(chance.uniform(0.0, 0.2))
            program.kill()
    with run():
        assert_end_state(cluster, foo["metadata"]["uid"])
