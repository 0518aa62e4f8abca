from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.role_aggregation import CLUSTER_ROLES, RoleAggregationController
from support.servers.simulated_cluster import SimulatedCluster


def _rule(resource: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}


def _create(cluster: SimulatedCluster, name: str, labels: dict[str, str], **fields: Any) -> None:
    metadata = {"name": name, "labels": labels}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata}
    cluster.create(CLUSTER_ROLES, {**role, **fields})


def test_each_selector_adds_its_roles_by_name() -> None:
    """A rule counts once; a role that selects itself adds nothing; one that aggregates is selected, too."""
    cluster = SimulatedCluster([RoleAggregationController(Pace())])
    selectors = [{"matchLabels": {"of": "b"}}, {"matchLabels": {"of": "a"}}]
    _create(cluster, "all", {"of": "a", "in": "more"}, aggregationRule={"clusterRoleSelectors": selectors})
    more = {"clusterRoleSelectors": [{"matchLabels": {"in": "more"}}]}
    _create(cluster, "more", {}, aggregationRule=more)
    _create(cluster, "z", {"of": "b"}, rules=[_rule("z"), _rule("z")])
    _create(cluster, "y", {"of": "a"}, rules=[_rule("y"), _rule("z")])
    _create(cluster, "x", {"of": "a"}, rules=[_rule("x")])
    cluster.run_for(1)
    expected = [_rule("z"), _rule("x"), _rule("y")]
    assert cluster.must_get(CLUSTER_ROLES, "", "all")["rules"] == expected
    assert cluster.must_get(CLUSTER_ROLES, "", "more")["rules"] == expected
    writes = len(cluster.writes)
    cluster.change(CLUSTER_ROLES, "", "x", metadata={"labels": {"of": "a", "b": "c"}})
    cluster.run_for(1)
    assert len(cluster.writes) == writes
