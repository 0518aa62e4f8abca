"""
What leader election promises with the durations by default, on a real server, between two processes that
may do what `manifests rbac` prints and no more.

Run with `-s` it prints how long each hand-over took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
)
from support.rigs.program import Run
from support.rigs.replicas import MARGIN_SECONDS, Replica, Replicas
from support.servers.cluster import Cluster
from support.servers.service_account import service_account

SIGTERM_SECONDS: Final = 2.0
"""What the other may take when the leader was asked to stop."""

pytestmark = pytest.mark.parametrize("cluster", [pytest.param("real", marks=pytest.mark.real)], indirect=True)


@pytest.fixture
def replicas(cluster: Cluster, run: Run, tmp_path: Path) -> Iterator[Replicas]:
    """No replica yet; at the end nothing was refused, and nothing was written without the lease."""
    flags = (
        "--controllers=foo",
        f"--namespace={cluster.namespace}",
        "--leader-elect",
        f"--leader-elect-resource-namespace={cluster.namespace}",
    )
    with service_account(cluster, tmp_path, *flags) as kubeconfig, ExitStack() as stack:
        transport = stack.enter_context(closing(HTTPTransport(load_config(kubeconfig=str(kubeconfig)))))
        replicas = Replicas(cluster, run, tmp_path, stack, transport=transport)
        yield replicas
        logs = [line for replica in replicas.all for line in replica.program.log]
        stack.pop_all().close()
        replicas.check_history()
        assert not [line for line in logs if "forbidden" in line.lower() or "handloop errors E09" in line]


def hand_over(replicas: Replicas, end: Callable[[Replica], object]) -> tuple[Replica, Replica, float]:
    """
    End the leader at work; wait until the other works.

    Returns: both, and the seconds from before the end to the first request that the other wrote with.
    """
    leader, standby = replicas.pair()
    account = f"system:serviceaccount:{replicas.cluster.namespace}:handloop"
    assert all(replica.program.lines_with(f'identity="{account}"') for replica in (leader, standby))
    with replicas.changing_foos():
        leader.wait_work(at_least=10)
        ended_at = time.monotonic()
        end(leader)
        standby.wait_work(seconds=LEASE_DURATION_SECONDS + RETRY_PERIOD_SECONDS + MARGIN_SECONDS)
    seconds = standby.work[0].began_at - ended_at
    sys.stdout.write(f"\n  the other acted after {seconds:.2f} s ")
    return leader, standby, seconds


def test_a_killed_leader_is_followed_when_its_lease_has_run_out(replicas: Replicas) -> None:
    """Kill -9; the other acts within lease duration + retry period, and not before its end."""
    leader, standby, seconds = hand_over(replicas, lambda replica: replica.program.kill())
    assert seconds <= LEASE_DURATION_SECONDS + RETRY_PERIOD_SECONDS + MARGIN_SECONDS
    waited = standby.renewals[0].began_at - leader.renewals[-1].began_at
    assert waited >= LEASE_DURATION_SECONDS
    assert standby.program.stop() == 0


def test_a_leader_that_is_asked_to_stop_is_followed_at_once(replicas: Replicas) -> None:
    """SIGTERM; the other acts within 2 s, and not before the lease was given back."""
    leader, standby, seconds = hand_over(replicas, lambda replica: replica.program.stop())
    assert seconds <= SIGTERM_SECONDS + MARGIN_SECONDS < RENEW_DEADLINE_SECONDS + MARGIN_SECONDS
    assert leader.proxy.writes[-1].holder == ""
    assert standby.program.stop() == 0
