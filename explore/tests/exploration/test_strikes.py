"""How the server refuses, and what a write is about."""

from __future__ import annotations

import json

import pytest

from handloop_explore.plan import KINDS, REFUSALS
from handloop_explore.strikes import answer_of, place_of, target_of
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


def test_a_path_has_a_place() -> None:
    """Of core and other groups, in a namespace, of the cluster, and of a namespace itself."""
    assert place_of("/api/v1/namespaces/n/configmaps/a") == ("n", "/api/v1/namespaces/n/configmaps", "a")
    assert place_of("/apis/apps/v1/namespaces/n/deployments/a/status")[2] == "a"
    assert place_of("/apis/apps/v1/namespaces/n/jobs") == ("n", "/apis/apps/v1/namespaces/n/jobs", "")
    assert place_of("/api/v1/nodes/a") == ("", "/api/v1/nodes", "a")
    assert place_of("/api/v1/namespaces/a") == ("", "/api/v1/namespaces", "a")
