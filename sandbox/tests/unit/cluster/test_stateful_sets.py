from __future__ import annotations

from typing import Any

import pytest

from support.servers.living_server import APPS, CORE, LivingServer, selecting, template

_SETS = f"{APPS}/statefulsets"


def _server(**spec: Any) -> LivingServer:
    server = LivingServer(speed=10.0)
    server.make(_SETS, "db", selecting(serviceName="db", **spec))
    return server


@pytest.mark.parametrize(("policy", "names"), [("OrderedReady", ["db-0"]), ("Parallel", ["db-0", "db-1"])])
def test_a_pod_that_is_not_ready_holds_up_the_next(policy: str, names: list[str]) -> None:
    """Unless they are made in parallel."""
    broken = template("nginx:never-ready")
    server = _server(replicas=2, template=broken, podManagementPolicy=policy)
    server.wait(5)
    assert list(server.items(f"{CORE}/pods")) == names


def test_ordinals_begin_where_they_are_told_to() -> None:
    """And minReadySeconds counts before the next one."""
    server = _server(replicas=2, ordinals={"start": 3}, minReadySeconds=10)
    server.wait(1)
    assert list(server.items(f"{CORE}/pods")) == ["db-3"]
    server.wait(3)
    assert list(server.items(f"{CORE}/pods")) == ["db-3", "db-4"]
    assert server.status(f"{_SETS}/db")["availableReplicas"] == 2


def test_a_broken_update_stops_at_its_first_pod() -> None:
    """The other pods keep the template that works."""
    server = _server(replicas=3)
    server.wait(5)
    server.change(f"{_SETS}/db", template=template("nginx:never-ready"))
    server.wait(10)
    pods = server.items(f"{CORE}/pods")
    images = [pod["spec"]["containers"][0]["image"] for pod in pods.values()]
    assert images == ["nginx:1", "nginx:1", "nginx:never-ready"]
    assert server.status(f"{_SETS}/db")["updatedReplicas"] == 1


def test_a_refused_pod_is_told_and_tried_again() -> None:
    """A quota that lets no pod in is in an Event; when it goes, the pod comes."""
    server = LivingServer(speed=10.0)
    server.make(f"{CORE}/resourcequotas", "none", {"hard": {"pods": "0"}})
    server.wait(1)
    server.make(_SETS, "db", selecting(replicas=1))
    server.wait(1)
    assert "exceeded quota" in server.told("StatefulSet", "FailedCreate")[0]
    server.request("DELETE", f"{CORE}/resourcequotas/none")
    server.wait(10)
    assert list(server.items(f"{CORE}/pods")) == ["db-0"]
