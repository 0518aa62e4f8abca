"""What two good runs agree on."""

from __future__ import annotations

from typing import Any

from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.types import Foo
from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.end_state import end_state
from handloop.testing.explore.rivals import RIVAL
from support.builders.workloads import FOO


def test_it_holds_what_counts_and_nothing_of_one_run_alone(cluster: VirtualCluster) -> None:
    """Neither versions, uids, times nor a rival's label; the status only of kinds that are reconciled."""
    path = cluster.path_of(FOO)
    cluster.send(
        "POST", path.rpartition("/")[0], {**FOO, "metadata": {"name": "a", "labels": {RIVAL: "edit"}}}
    )
    cluster.send("PATCH", f"{path}/status", {"status": {"availableReplicas": 1}})
    plain: dict[str, Any] = {"labels": {}, "owners": []}
    with_status = {"spec": FOO["spec"], "status": {"availableReplicas": 1}, "metadata": plain}
    assert end_state(cluster, (Foo, Deployment), {Foo}) == {"Foo default/a": with_status}
    assert "status" not in end_state(cluster, (Foo,), ())["Foo default/a"]
