from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.quota_usage import counted_collection, exceeded, used
from handloop.sandbox.cluster.workloads import PODS
from handloop.sandbox.wire.resource import GroupResource
from support.simulated_cluster import CONFIG_MAPS, SimulatedCluster, new_config_map, new_pod


def _quota(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "q", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("configmaps", GroupResource("", "configmaps")),
        ("count/configmaps", GroupResource("", "configmaps")),
        ("count/widgets.example.org", GroupResource("example.org", "widgets")),
        ("requests.cpu", None),
        ("services.nodeports", None),
    ],
)
def test_what_a_name_counts(name: str, collection: GroupResource | None) -> None:
    """Names count collections; cpu and the kinds of Services are not counted here."""
    assert counted_collection(name) == collection


def test_one_too_many() -> None:
    """What another object would exceed is told for each name that counts its collection."""
    cluster = SimulatedCluster([])
    cluster.create(CONFIG_MAPS, new_config_map("a"))
    quota = _quota(hard={"configmaps": "1", "count/configmaps": "2", "pods": "0", "cpu": "1"})
    assert used(cluster.store, "default", quota) == {"configmaps": 1, "count/configmaps": 1, "pods": 0}
    assert exceeded(cluster.store, "default", quota, CONFIG_MAPS) == {
        "requested": "configmaps=1",
        "used": "configmaps=1",
        "limited": "configmaps=1",
    }
    assert exceeded(cluster.store, "default", quota, GroupResource("", "secrets")) is None


def test_quotas_with_scopes_count_nothing() -> None:
    """What only some objects are counted for is not counted at all."""
    quota = _quota(hard={"pods": "0"}, scopes=["BestEffort"])
    assert used(SimulatedCluster([]).store, "default", quota) == {}


def test_finished_pods() -> None:
    """A pod that has ended counts by the newer name only."""
    cluster = SimulatedCluster([])
    cluster.create(PODS, new_pod("p"))
    cluster.change(PODS, "default", "p", status={"phase": "Succeeded"})
    quota = _quota(hard={"pods": "1", "count/pods": "1"})
    assert used(cluster.store, "default", quota) == {"count/pods": 1, "pods": 0}
