"""Requests of the live page."""

from __future__ import annotations

import pytest

from handloop.controller.foo.types import Foo
from handloop_learn.live.cluster_acts import GHOST, ClusterActs
from handloop_learn.live.control_error import ControlError
from support.doubles.scripted_transport import ScriptedTransport, answer
from support.rigs.managed_sandbox import ManagedSandbox


def test_what_was_made_is_found_again() -> None:
    """A ghost that exists already is no trouble; clean deletes what the page made and nothing else."""
    cluster = ManagedSandbox(Foo)
    acts = ClusterActs(cluster.transport())
    acts.make_ghost()
    acts.make_ghost()
    cluster.foo("own")
    assert acts.clean() == 1
    left = cluster.transport().request("GET", Foo.resource.path(namespace="default")).body
    assert b'"own"' in left
    assert GHOST.encode() not in left


def test_a_refusal_shows_what_was_asked() -> None:
    """Method, path and status; the body of the answer may be anything."""
    acts = ClusterActs(ScriptedTransport([answer(403, b"no")]))
    with pytest.raises(ControlError, match=r"DELETE /apis/apps/v1/.*the server answered 403"):
        acts.delete_deployment("default", "a")


def test_the_lease_gets_another_holder() -> None:
    """So the leader sees that it has lost."""
    cluster = ManagedSandbox()
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    cluster.post(path, {"metadata": {"name": "ours"}, "spec": {"holderIdentity": "us"}})
    ClusterActs(cluster.transport()).steal_lease("default", "ours")
    assert b'"somebody-else"' in cluster.transport().request("GET", f"{path}/ours").body
