"""The permissions that are asked for, one by one, and E09."""

from __future__ import annotations

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.apis.resource import Resource
from handloop.controller.cli.declarations import declared_access
from handloop.controller.cli.permissions import Need, missing_permissions, needs, rbac_command
from handloop.controller.runtime.rbac.access import Access
from support.builders.options import new_options, parse_options

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
COMMAND = "python -m controller manifests rbac"
DEPLOYMENTS = Access(resource=Deployment.resource, verbs=("list", "watch"))
SCALE = Access(resource=Deployment.resource, verbs=("get",), subresource="scale")
LOCK = Access(
    resource=Lease.resource,
    verbs=("get", "update"),
    names=("handloop",),
    namespace="home",
    purpose="leader-election",
)


def said(found: list[Need]) -> list[str]:
    """Each need in words."""
    return [f"{need.what} {need.scope}" for need in found]


def test_every_verb_is_a_need_of_its_own() -> None:
    """At cluster scope where everything is watched; subresources with a slash."""
    assert said(needs([DEPLOYMENTS, SCALE])) == [
        "list deployments.apps at cluster scope",
        "watch deployments.apps at cluster scope",
        "get deployments.apps/scale at cluster scope",
    ]


def test_needs_follow_the_namespaces_that_are_watched() -> None:
    """Each namespace is asked about; a kind without namespaces is asked about once."""
    nodes = Access(resource=NODES, verbs=("list",))
    assert said(needs([SCALE, nodes], ("a", "b"))) == [
        "list nodes at cluster scope",
        'get deployments.apps/scale in namespace "a"',
        'get deployments.apps/scale in namespace "b"',
    ]


def test_a_named_object_is_asked_about_by_name_and_place() -> None:
    """Whoever may update every lease but ours would not do."""
    found = needs([LOCK], ("demo",))
    assert said(found) == [
        'get leases.coordination.k8s.io "handloop" in namespace "home"',
        'update leases.coordination.k8s.io "handloop" in namespace "home"',
    ]
    assert {need.permission.name for need in found} == {"handloop"}


def test_e09_lists_everything_denied_at_once() -> None:
    """The first in the headline, all of them below, how many of how many, and the special account."""
    user = "system:serviceaccount:demo:default"
    problem = missing_permissions(user, needs([DEPLOYMENTS]), 11, COMMAND)
    assert (problem.code, problem.exit_code) == ("E09", 5)
    assert problem.what == f'"{user}" may not list deployments.apps at cluster scope'
    assert problem.causes == ("missing 2 of 11 permissions: list deployments.apps, watch deployments.apps",)
    assert problem.fixes == (
        "python -m controller manifests rbac | kubectl apply -f -",
        "kubectl create clusterrolebinding handloop --clusterrole=handloop --serviceaccount=demo:default",
        "the ServiceAccount is `default`: set serviceAccountName in the Deployment",
    )


def test_e09_for_one_namespace_needs_a_role_only() -> None:
    """With -n the fix asks for nothing outside that namespace; a name with spaces survives the shell."""
    problem = missing_permissions("alice b", needs([SCALE], ("demo",)), 9, f"{COMMAND} -n demo")
    assert problem.what == '"alice b" may not get deployments.apps/scale in namespace "demo"'
    assert problem.fixes == (
        "python -m controller manifests rbac -n demo | kubectl apply -f -",
        "kubectl -n demo create rolebinding handloop --role=handloop --user='alice b'",
    )


def test_e09_binds_every_role_that_is_missing() -> None:
    """Another place is named where it differs from the headline's; each role has its command."""
    here = Access(resource=Lease.resource, verbs=("create",), namespace="", purpose="leader-election")
    problem = missing_permissions("alice", [*needs([SCALE, LOCK]), *needs([here])], 9, COMMAND)
    assert problem.causes[0].partition(": ")[2] == (
        'get deployments.apps/scale, get leases.coordination.k8s.io "handloop" in namespace "home", '
        'update leases.coordination.k8s.io "handloop" in namespace "home", create leases.coordination.k8s.io'
    )
    role = "handloop-leader-election"
    assert problem.fixes[1:] == (
        "kubectl create clusterrolebinding handloop --clusterrole=handloop --user=alice",
        f"kubectl -n home create rolebinding {role} --role={role} --user=alice",
        f"kubectl create rolebinding {role} --role={role} --user=alice",
    )


def test_the_command_of_e09_prints_the_roles_for_the_same_options() -> None:
    """Read back it asks for the same; what changes no role is left out."""
    assert rbac_command(new_options(workers=7)) == "python -m controller manifests rbac"
    options = new_options(namespace="a,b", kubeconfig="/k")
    command = rbac_command(options)
    assert command == "python -m controller manifests rbac -n a,b"
    again = parse_options(["manifests", "rbac", "-n", "a,b"], {})
    assert declared_access(again) == declared_access(options)
    assert again.namespaces == options.namespaces
