"""Roles made from declared access."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.apis.resource import Resource
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.runtime.rbac.access import LISTING_NAMESPACES, PAUSING_NAMESPACES, Access
from handloop.controller.runtime.rbac.roles import roles

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
LOCK = (
    Access(resource=Lease.resource, verbs=("create",), namespace="home", purpose="leader-election"),
    Access(
        resource=Lease.resource,
        verbs=("get", "update"),
        names=("handloop",),
        namespace="home",
        purpose="leader-election",
    ),
)


def heads(made: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Kind, namespace and name of each role."""
    return [(role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]) for role in made]


def test_a_cluster_role_lists_exactly_what_was_declared() -> None:
    """One rule per entry, verbs sorted, subresources with a slash."""
    wanted = Access(resource=Deployment.resource, verbs=("patch", "list"), subresource="scale")
    (made,) = roles([wanted], name="x")
    assert made["kind"] == "ClusterRole"
    assert made["metadata"] == {"name": "x"}
    assert made["rules"] == [
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["list", "patch"]}
    ]


def test_a_verb_that_must_be_and_one_that_may_be_are_one_rule() -> None:
    """A reader of a role sees each resource once: the program's need is no matter of RBAC."""
    (role,) = roles((LISTING_NAMESPACES, PAUSING_NAMESPACES))
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["namespaces"], ["list", "watch"])
    ]


def test_several_namespaces_make_a_role_in_each() -> None:
    """With the same rules."""
    made = roles(FOO_ACCESS, namespaces=("a", "b"), name="x")
    assert heads(made) == [("Role", "a", "x"), ("Role", "b", "x")]
    assert made[0]["rules"] == made[1]["rules"]


def test_one_namespace_is_a_sequence_of_one() -> None:
    """A str is refused: there would be a role for each of its letters."""
    with pytest.raises(TypeError, match=r"such as \('demo',\), and not a str"):
        roles(FOO_ACCESS, namespaces="demo", name="x")


def test_a_kind_without_namespaces_needs_a_cluster_role_even_then() -> None:
    """And only that kind is in it."""
    nodes = Access(resource=NODES, verbs=("list",))
    made = roles([*FOO_ACCESS, nodes], namespaces=("demo",), name="x")
    assert heads(made) == [("ClusterRole", "", "x"), ("Role", "demo", "x")]
    assert made[0]["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    assert heads(roles([*FOO_ACCESS, nodes], name="x")) == [("ClusterRole", "", "x")]


def test_what_has_a_purpose_gets_a_role_of_its_own_where_it_is_needed() -> None:
    """Leader election is about one lease in one namespace, for any watched ones; create has no name yet."""
    made = roles([*LOCK, *FOO_ACCESS], name="x")
    assert heads(made) == [("ClusterRole", "", "x"), ("Role", "home", "x-leader-election")]
    group = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert made[1]["rules"] == [
        group | {"verbs": ["create"]},
        group | {"resourceNames": ["handloop"], "verbs": ["get", "update"]},
    ]


def test_the_programs_own_namespace_is_left_to_the_user() -> None:
    """It is not known before: kubectl or kustomize fills it in."""
    here = Access(resource=Lease.resource, verbs=("create",), namespace="")
    assert heads(roles([here], namespaces=("demo",), name="x")) == [("Role", "", "x")]
