"""What a rival does, and how the server refuses."""

from __future__ import annotations

import json

import pytest

from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.plan import KINDS, REFUSALS
from handloop.testing.explore.strikes import RIVAL, answer_of, rival_acts, target_of
from handloop.testing.explore.virtual_threads import VirtualThreads
from support.builders.workloads import FOO


def test_a_write_has_its_object() -> None:
    """A create names it in its body, a subresource is a part of it."""
    foos = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
    assert target_of("POST", foos, json.dumps(FOO).encode()) == f"{foos}/a"
    assert target_of("PUT", f"{foos}/a/status", b"{}") == f"{foos}/a"
    assert target_of("DELETE", f"{foos}/a", None) == f"{foos}/a"


@pytest.mark.parametrize("code", sorted({int(one) for one in (*REFUSALS, *KINDS["r"]) if one.isdecimal()}))
def test_a_refusal_is_a_status(code: int) -> None:
    """With the code, and a reason that clients know."""
    answer = answer_of(code)
    status = json.loads(answer.body)
    assert (answer.status, status["code"], status["kind"]) == (code, code, "Status")
    assert status["reason"]


def test_rivals_edit_delete_recreate_and_take_names(cluster: VirtualCluster) -> None:
    """Only where there is something to do."""
    path, body = cluster.path_of(FOO), json.dumps(FOO).encode()
    assert not rival_acts(cluster, "rival-edit", path, None)
    assert rival_acts(cluster, "rival-takes-name", path, body)
    assert not rival_acts(cluster, "rival-takes-name", path, body)
    first = cluster.send("GET", path)
    assert first["metadata"]["labels"] == {RIVAL: "owner"}
    assert rival_acts(cluster, "rival-edit", path, None)
    assert rival_acts(cluster, "rival-recreate", path, None)
    again = cluster.send("GET", path)
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert (again["spec"], again["metadata"]["labels"]) == (first["spec"], {RIVAL: "edit"})
    assert rival_acts(cluster, "rival-delete", path, None)
    assert cluster.find(path) is None


def test_what_has_a_finalizer_is_made_again_once_it_is_gone(
    threads: VirtualThreads, cluster: VirtualCluster
) -> None:
    """As `kubectl replace --force` waits; what already goes is left to go."""
    path = cluster.path_of(FOO)
    held = {**FOO, "metadata": {"name": "a", "finalizers": ["example.com/hold"]}}
    first = cluster.send("POST", cluster.path_of(FOO, named=False), held)
    assert rival_acts(cluster, "rival-recreate", path, None)
    assert not rival_acts(cluster, "rival-recreate", path, None)
    threads.run_for(5)
    cluster.send("PATCH", path, {"metadata": {"finalizers": None}})
    threads.run_for(5)
    assert cluster.send("GET", path)["metadata"]["uid"] != first["metadata"]["uid"]
