"""What shards need to be allowed."""

from __future__ import annotations

from handloop.controller.runtime.election.lease_access import leader_election_access
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.sharding.shard_access import shards_access


def test_its_role_takes_the_place_of_leader_elections() -> None:
    """The same name in the same namespace, so a binding fits both; Leases are listed and deleted, too."""
    [role] = roles(shards_access("demo"))
    assert role["metadata"] == roles(leader_election_access("handloop", "demo"))[0]["metadata"]
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert role["rules"] == [{**leases, "verbs": ["create", "delete", "get", "list", "update"]}]
