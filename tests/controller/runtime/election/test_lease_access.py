"""What leader election needs to be allowed."""

from __future__ import annotations

from handloop.controller.runtime.election.lease_access import leader_election_access
from handloop.controller.runtime.rbac.roles import roles


def test_only_one_lease_can_be_read_and_written() -> None:
    """A create cannot be limited by name; get, update and watch are. Nothing is listed or deleted."""
    [role] = roles(leader_election_access("handloop", "demo"))
    assert role["metadata"] == {"name": "handloop-leader-election", "namespace": "demo"}
    group = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert {**group, "verbs": ["create"]} in role["rules"]
    assert {**group, "resourceNames": ["handloop"], "verbs": ["get", "update", "watch"]} in role["rules"]
    assert {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]} in role["rules"]
    assert len(role["rules"]) == 3


def test_without_a_namespace_it_is_where_the_program_lives() -> None:
    """Whoever applies the manifest decides, as for the program itself."""
    [role] = roles(leader_election_access("handloop"))
    assert "namespace" not in role["metadata"]
    assert role["kind"] == "Role"
