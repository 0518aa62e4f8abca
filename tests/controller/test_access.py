"""Declared access and the roles made from it."""

from __future__ import annotations

from apis.apps_v1 import Deployment
from controller.access import FOO_ACCESS, Access, role


def test_a_cluster_role_lists_exactly_what_was_declared() -> None:
    """One rule per entry, verbs sorted, subresources with a slash."""
    made = role("x", [Access(resource=Deployment.resource, verbs=("patch", "list"), subresource="scale")])
    assert made["kind"] == "ClusterRole"
    assert made["metadata"] == {"name": "x"}
    assert made["rules"] == [
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["list", "patch"]}
    ]


def test_a_namespace_makes_it_a_role() -> None:
    """A controller of one namespace needs no cluster-wide rights."""
    made = role("x", FOO_ACCESS, namespace="demo")
    assert (made["kind"], made["metadata"]) == ("Role", {"name": "x", "namespace": "demo"})


def test_foo_never_asks_for_what_could_destroy() -> None:
    """No delete, no wildcard, no write to Foos but their status."""
    verbs = {(entry.rule_resource, verb) for entry in FOO_ACCESS for verb in entry.verbs}
    assert not {verb for _, verb in verbs} & {"delete", "deletecollection", "*", "escalate", "bind"}
    assert {verb for resource, verb in verbs if resource == "foos"} == {"list", "watch"}
