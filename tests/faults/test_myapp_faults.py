"""The MyApp controller under the sandbox's faults: no child twice, none lost, and the end is as wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.manager import Manager
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop_sandbox.faults.injection import Injection
from handloop_sandbox.requests.request import Request
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.rigs.myapp_story import READY, statuses
from support.servers.cluster import CRDS, Object
from support.servers.faulty_cluster import DEPLOYMENTS, OURS, SECONDS, FaultyCluster

APPS: Final = MyApp.resource.path(namespace="default")
SERVICES: Final = Service.resource.path(namespace="default")
AUTOSCALERS: Final = HorizontalPodAutoscaler.resource.path(namespace="default")
CHILDREN: Final = (DEPLOYMENTS, SERVICES)
LAG_SECONDS: Final = 0.5
WRITES: Final[dict[str, Any]] = {"verbs": ["create", "patch", "update", "delete"], **OURS}

SCALING: Final = {"enabled": True, "minReplicas": 1, "maxReplicas": 5}

FAULTS: dict[str, Callable[[FaultyCluster], Injection]] = {
    "answers lost": lambda c: c.faults.lose_answer(count=5, **OURS),
    "writes lost": lambda c: c.faults.lose_answer(executed=False, count=5, **OURS),
    "conflicts": lambda c: c.faults.conflict(count=5, **OURS),
    "500": lambda c: c.faults.error(500, count=5, **WRITES),
    "503": lambda c: c.faults.error(503, retry_after=1, count=5, **WRITES),
    "429": lambda c: c.faults.error(429, retry_after=1, count=3, **WRITES),
    "403": lambda c: c.faults.deny(count=5, **WRITES),
    "watches cut": lambda c: c.faults.drop_watches("cut", after_events=1, count=8, **OURS),
    "watches repeat": lambda c: c.faults.distort_watches("repeat", count=8, **OURS),
    "watches late": lambda c: c.faults.delay_watches(0.2, **OURS),
    "watches expired": lambda c: c.faults.expire(after_events=1, count=8, **OURS),
    "stale lists": lambda c: c.faults.lag(count=6, **OURS),
}


class MyAppProcess:
    """The MyApp controller in a manager. created = what its applies created, by collection."""

    def __init__(self, cluster: FaultyCluster, clock: Clock) -> None:
        self._cluster = cluster
        self.registry = CollectorRegistry()
        self.created: list[str] = []
        self._handle = cluster.sandbox.engine.handle
        cluster.sandbox.engine.handle = self._note  # type: ignore[method-assign] # every request passes
        manager = Manager(cluster.client(), registry=self.registry, seams=Seams(clock=clock))
        self.controller = add_myapp(manager)
        self._running = Background(lambda: manager.run(cluster.stop))

    def metric(self, name: str) -> float:
        """A value of this controller's."""
        return self.registry.get_sample_value(name, {"controller": "myapp"}) or 0.0

    def close(self) -> None:
        """Stop and join."""
        self._cluster.stop.set()
        self._running.result()

    def _note(self, request: Request) -> Any:
        ours = request.headers.get("user-agent", "").startswith(OURS["user_agent"][:-1])
        answer = self._handle(request)
        if ours and request.method == "PATCH" and getattr(answer, "status", 0) == HTTPStatus.CREATED:
            self.created.append("/" + request.path.lstrip("/").partition("?")[0].rpartition("/")[0])
        return answer


@contextmanager
def myapp_process(cluster: FaultyCluster, clock: Clock | None = None) -> Iterator[MyAppProcess]:
    """The controller, up and running, for as long as the context lasts."""
    cluster.create(CRDS, custom_resource_definition(MyApp))
    process = MyAppProcess(cluster, clock or cluster.clock)
    try:
        with captured_logs():
            until(lambda: process.controller.statistics().workers_alive, "working", seconds=SECONDS)
            yield process
    finally:
        cluster.faults.clear()
        process.close()


def create(cluster: FaultyCluster) -> None:
    """Create a MyApp."""
    app = {"apiVersion": "example.com/v1", "kind": "MyApp", "metadata": {"name": "web"}}
    cluster.create(APPS, {**app, "spec": {"image": "nginx:1", "replicas": 2}})


def wait_ready(cluster: FaultyCluster, replicas: int) -> None:
    """Wait until web's status shows that it is up, for the present spec."""

    def is_ready() -> bool:
        app = cluster.list(APPS)["web"]
        status: Object = app.get("status") or {}
        return (
            status.get("observedGeneration") == app["metadata"]["generation"]
            and statuses(status) == READY
            and status["readyReplicas"] == replicas
        )

    until(is_ready, f"ready with {replicas}: {json.dumps(cluster.list(APPS))}", seconds=SECONDS)


def uids(cluster: FaultyCluster) -> dict[str, str]:
    """The UIDs of the children that live as long as the MyApp."""
    return {path: cluster.list(path)["web"]["metadata"]["uid"] for path in CHILDREN}


@pytest.mark.parametrize("name", FAULTS)
def test_a_life_under_faults_ends_as_wanted(cluster: FaultyCluster, name: str) -> None:
    """Created, changed, scaled by an autoscaler and back, and gone: children are made once and kept."""
    with myapp_process(cluster):
        faults = [FAULTS[name](cluster)]
        cluster.faults.drop_watches(only_open=True, **OURS)
        create(cluster)
        wait_ready(cluster, 2)
        before = uids(cluster)
        faults.append(FAULTS[name](cluster))
        spec = {"image": "nginx:2", "serviceType": "NodePort", "autoScaling": SCALING}
        cluster.change(APPS, "web", {"spec": spec})
        until(lambda: "web" in cluster.list(AUTOSCALERS), "an autoscaler", seconds=SECONDS)
        cluster.change(f"{DEPLOYMENTS}/web", "scale", {"spec": {"replicas": 3}})
        wait_ready(cluster, 3)
        faults.append(FAULTS[name](cluster))
        cluster.change(APPS, "web", {"spec": {"autoScaling": None}})
        wait_ready(cluster, 2)
        assert "web" not in cluster.list(AUTOSCALERS)
        assert uids(cluster) == before
        assert cluster.list(SERVICES)["web"]["spec"]["type"] == "NodePort"
        assert any(fault.hits for fault in faults)
        cluster.delete(APPS, "web")
        for path in CHILDREN:
            until(lambda: "web" not in cluster.list(path), f"{path} gone", seconds=SECONDS)  # noqa: B023


def test_a_watch_that_lags_leads_to_no_second_create(cluster: FaultyCluster) -> None:
    """A change comes while the cache lacks the children: it waits for them, and creates none again."""
    with myapp_process(cluster, REAL_CLOCK) as process:
        cluster.faults.delay_watches(LAG_SECONDS, resources=["deployments", "services"], **OURS)
        create(cluster)
        for path in CHILDREN:
            until(lambda: "web" in cluster.list(path), f"{path}/web", seconds=SECONDS)  # noqa: B023
        cluster.change(APPS, "web", {"spec": {"image": "nginx:2"}})
        until(lambda: process.metric("handloop_own_write_waits_total"), "waited", seconds=SECONDS)
        cluster.faults.clear()
        wait_ready(cluster, 2)
        assert [path for path in process.created if path in CHILDREN] == list(CHILDREN)
        assert process.metric("handloop_own_write_timeouts_total") == 0
