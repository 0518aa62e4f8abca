"""Our client and the Foo controller under the sandbox's faults of single requests."""

from __future__ import annotations

import pytest

from handloop.apis.meta import ObjectMeta
from handloop.client.errors import (
    ConnectionBroken,
    DeadlineExceeded,
    Forbidden,
    InternalError,
    ServiceUnavailable,
    TransportError,
)
from handloop.controller.foo.types import Foo, FooSpec
from handloop_sandbox.faults.injection import Injection
from support.checks.deadline import until
from support.servers.faulty_cluster import DEPLOYMENTS, FOOS, OURS, SECONDS, FaultyCluster, foo_process


def _foo(name: str) -> Foo:
    spec = FooSpec(deployment_name=name, replicas=1)
    return Foo(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


@pytest.mark.parametrize(("executed", "there"), [(True, {"a"}), (False, set())])
def test_a_lost_answer_is_unknown(cluster: FaultyCluster, executed: bool, there: set[str]) -> None:
    """A write whose answer was lost is not repeated, and may have happened."""
    lost = cluster.faults.lose_answer(executed=executed, **OURS)
    with pytest.raises(ConnectionBroken) as broken:
        cluster.client().resource(Foo).create(_foo("a"))
    assert broken.value.outcome_unknown
    assert lost.hits == 1
    assert set(cluster.objects(FOOS)) == there


def test_a_half_open_write_is_unknown(cluster: FaultyCluster) -> None:
    """Nothing comes back within the deadline; the write may have happened, and did."""
    cluster.faults.silence(verbs=["create"], **OURS)
    with pytest.raises(DeadlineExceeded) as silent:
        cluster.client().resource(Foo).create(_foo("a"))
    assert silent.value.outcome_unknown
    assert set(cluster.objects(FOOS)) == {"a"}


def test_latency_within_the_deadline_is_waited_for(cluster: FaultyCluster) -> None:
    """Slow is not broken; beyond the deadline it is."""
    foos = cluster.client().resource(Foo)
    with cluster.faults.latency(0.3, **OURS):
        assert foos.create(_foo("a")).metadata.uid
    with cluster.faults.latency(3600, **OURS), pytest.raises(DeadlineExceeded):
        foos.list("default")


@pytest.mark.parametrize("retry_after", [1, "1"])
def test_too_many_requests_are_repeated_after_the_named_time(
    cluster: FaultyCluster, retry_after: int | str
) -> None:
    """429 with Retry-After is waited for, writes included, as nothing was done."""
    limited = cluster.faults.error(429, retry_after=retry_after, count=2, **OURS)
    began_at = cluster.clock.now()
    cluster.client().resource(Foo).create(_foo("a"))
    assert cluster.clock.now() - began_at >= 2
    assert limited.hits == 2


def test_an_empty_retry_after_is_ignored(cluster: FaultyCluster) -> None:
    """A date or garbage is an error at once."""
    for text in ("Fri, 31 Dec 1999 23:59:59 GMT", "soon"):
        with cluster.faults.error(503, retry_after=text, **OURS) as down, pytest.raises(ServiceUnavailable):
            cluster.client().resource(Foo).list("default")
        assert down.hits == 1


def test_server_errors_repeat_reads_only(cluster: FaultyCluster) -> None:
    """A 5xx may hide a write that happened."""
    foos = cluster.client().resource(Foo)
    down = cluster.faults.error(503, retry_after=1, count=2, **OURS)
    foos.list("default")
    assert down.hits == 2
    broken = cluster.faults.error(500, retry_after=1, **OURS)
    with pytest.raises(InternalError):
        foos.create(_foo("a"))
    assert broken.hits == 1


def test_a_denial_names_what_is_missing(cluster: FaultyCluster) -> None:
    """Verb and resource are in the message."""
    cluster.faults.deny(verbs=["create"], **OURS)
    with pytest.raises(Forbidden, match='cannot create resource "foos"'):
        cluster.client().resource(Foo).create(_foo("a"))


def test_a_lost_read_is_repeated(cluster: FaultyCluster) -> None:
    """A list whose connection breaks is asked for again."""
    lost = cluster.faults.lose_answer(verbs=["list"], count=1, **OURS)
    assert cluster.client().resource(Foo).list("default").items == []
    assert lost.hits == 1


def test_an_endless_outage_is_an_error(cluster: FaultyCluster) -> None:
    """The caller gets the error, after the repetitions that a read is worth."""
    cluster.faults.lose_answer(verbs=["*"], executed=False, **OURS)
    with pytest.raises(TransportError):
        cluster.client().resource(Foo).list("default")


def _is_available(cluster: FaultyCluster, name: str) -> bool:
    foo = cluster.objects(FOOS)[name]
    return bool(foo.get("status", {}).get("availableReplicas") == foo["spec"]["replicas"])


_CONTROLLER_FAULTS = {
    "conflict on the child": lambda c: c.faults.conflict(resources=["deployments"], count=3, **OURS),
    "conflict on the status": lambda c: c.faults.conflict(resources=["foos/status"], count=3, **OURS),
    "stale cache": lambda c: c.faults.lag(**OURS),
    "lost create": lambda c: c.faults.lose_answer(resources=["deployments"], count=2, **OURS),
    "lost status": lambda c: c.faults.lose_answer(resources=["foos/status"], count=2, **OURS),
    "denied child": lambda c: c.faults.deny(verbs=["create"], resources=["deployments"], count=4, **OURS),
    "denied events": lambda c: c.faults.deny(resources=["events"], **OURS),
    "limited events": lambda c: c.faults.error(429, resources=["events"], **OURS),
    "silent create": lambda c: c.faults.silence(verbs=["create"], resources=["deployments"], count=1, **OURS),
    "failing writes": lambda c: c.faults.error(500, verbs=["create", "update", "patch"], count=5, **OURS),
}


@pytest.mark.parametrize("name", _CONTROLLER_FAULTS)
def test_the_controller_gets_there(cluster: FaultyCluster, name: str) -> None:
    """The fault is met, Foo and Deployment end in step, one of each."""
    with foo_process(cluster):
        injection: Injection = _CONTROLLER_FAULTS[name](cluster)
        foo = cluster.create_foo("web", replicas=1)
        if name == "stale cache":  # before its end nothing goes on
            until(lambda: injection.hits, "met", seconds=SECONDS)
            injection.clear()
        until(lambda: "web" in cluster.objects(DEPLOYMENTS), "a child", seconds=SECONDS)
        cluster.change(FOOS, "web", {"spec": {"replicas": 2}})
        until(lambda: injection.hits, "met", seconds=SECONDS)
        until(lambda: _is_available(cluster, "web"), "available", seconds=SECONDS)
        deployments = cluster.objects(DEPLOYMENTS)
        assert set(deployments) == {"web"}
        owners = deployments["web"]["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [foo["metadata"]["uid"]]
