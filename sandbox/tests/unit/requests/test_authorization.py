from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.requests import authorization
from handloop_sandbox.requests.authorization import Attributes
from handloop_sandbox.requests.request import User
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import StatusError

_RBAC = "rbac.authorization.k8s.io"
_ALICE = User("alice", ("dev", "system:authenticated"))
_ROBOT = authorization.service_account("n", "robot", "u")


def _state(*objects: tuple[str, dict[str, Any]]) -> Store:
    store = Store()
    for plural, obj in objects:
        transaction = Transaction(store)
        transaction.put(GroupResource(_RBAC, plural), {"apiVersion": "v1", "kind": "X", **obj})
        store.commit(transaction.changes)
    return store


def _role(name: str, *rules: dict[str, Any], namespace: str = "") -> tuple[str, dict[str, Any]]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return ("roles" if namespace else "clusterroles", {"metadata": metadata, "rules": list(rules)})


def _binding(
    role: str, *subjects: dict[str, str], kind: str = "ClusterRole", namespace: str = ""
) -> tuple[str, dict[str, Any]]:
    metadata = {"name": role, "namespace": namespace} if namespace else {"name": role}
    reference = {"kind": kind, "name": role}
    plural = "rolebindings" if namespace else "clusterrolebindings"
    return (plural, {"metadata": metadata, "roleRef": reference, "subjects": list(subjects)})


_READ_PODS = {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Attributes("list", "", "pods", "n"), True),
        (Attributes("get", "", "pods", "n", "p", "log"), True),
        (Attributes("get", "", "pods", "n", "p", "exec"), False),
        (Attributes("delete", "", "pods", "n"), False),
        (Attributes("list", "apps", "pods", "n"), False),
        (Attributes("list", "", "pods", "m"), False),
        (Attributes("list", "", "pods"), False),
    ],
)
def test_a_role_binding_counts_in_its_namespace(wanted: Attributes, expected: bool) -> None:
    """Group, resource, subresource, verb and namespace all have to fit."""
    state = _state(
        _role("r", _READ_PODS, namespace="n"),
        _binding("r", {"kind": "User", "name": "alice"}, kind="Role", namespace="n"),
    )
    assert authorization.allowed(state, _ALICE, wanted) is expected


@pytest.mark.parametrize(
    ("subject", "user", "expected"),
    [
        ({"kind": "User", "name": "alice"}, _ALICE, True),
        ({"kind": "Group", "name": "dev"}, _ALICE, True),
        ({"kind": "Group", "name": "ops"}, _ALICE, False),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "n"}, _ROBOT, True),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "m"}, _ROBOT, False),
        ({"kind": "Other", "name": "alice"}, _ALICE, False),
    ],
)
def test_subjects(subject: dict[str, str], user: User, expected: bool) -> None:
    """Users, groups and service accounts are bound by name."""
    state = _state(_role("r", _READ_PODS), _binding("r", subject))
    assert authorization.allowed(state, user, Attributes("list", "", "pods", "anywhere")) is expected


def test_wildcards_and_names() -> None:
    """A star stands for everything; resource names narrow a rule."""
    star = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    named = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["p"]}
    scales = {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["update"]}
    everything = _state(_role("r", star), _binding("r", {"kind": "User", "name": "alice"}))
    assert authorization.allowed(everything, _ALICE, Attributes("patch", "x", "y", "", "z", "status"))
    some = _state(_role("r", named, scales), _binding("r", {"kind": "User", "name": "alice"}))
    assert authorization.allowed(some, _ALICE, Attributes("get", "", "pods", "n", "p"))
    assert not authorization.allowed(some, _ALICE, Attributes("get", "", "pods", "n", "q"))
    assert authorization.allowed(some, _ALICE, Attributes("update", "apps", "deployments", "n", "d", "scale"))
    assert not authorization.allowed(some, _ALICE, Attributes("update", "apps", "deployments", "n", "d"))


def test_paths() -> None:
    """A path that is no resource is allowed by a rule for it, or for what it begins with."""
    rule = {"nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"]}
    state = _state(_role("r", rule), _binding("r", {"kind": "User", "name": "alice"}))
    assert not authorization.path_allowed(state, authorization.ANONYMOUS, "get", "/metrics")
    assert authorization.path_allowed(state, _ALICE, "get", "/logs/x")
    assert not authorization.path_allowed(state, _ALICE, "post", "/metrics")
    with pytest.raises(StatusError, match='User "alice" cannot get path "/secret"'):
        authorization.check_path(state, _ALICE, "get", "/secret")


def test_masters() -> None:
    """Nothing is forbidden to system:masters."""
    master = User("root", ("system:masters",))
    assert authorization.is_master(master)
    assert authorization.allowed(_state(), master, Attributes("delete", "x", "y"))
    assert authorization.path_allowed(_state(), master, "delete", "/x")


def test_the_words_of_a_refusal() -> None:
    """A refusal names user, verb, resource, group and scope."""
    with pytest.raises(StatusError) as raised:
        authorization.check_resource(_state(), _ALICE, Attributes("patch", "g", "ws", "n", "a", "status"))
    assert str(raised.value) == (
        'ws.g "a" is forbidden: User "alice" cannot patch resource "ws/status" in API group "g" in the '
        'namespace "n"'
    )
    assert raised.value.status["details"] == {"name": "a", "group": "g", "kind": "ws"}
    with pytest.raises(StatusError, match="at the cluster scope"):
        authorization.check_resource(_state(), _ALICE, Attributes("list", "", "nodes"))


def test_a_namespace_is_in_itself() -> None:
    """Requests on a namespace count as requests in it."""
    path = ResourcePath("", "v1", "namespaces", "", "n")
    assert authorization.attributes(path, "get") == Attributes("get", "", "namespaces", "n", "n")
    assert authorization.rules(_state(), _ALICE, "n") == []
