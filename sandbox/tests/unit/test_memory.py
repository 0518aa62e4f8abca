"""What a sandbox remembers does not grow with what it has seen."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

import pytest

from handloop_sandbox.cluster import events, garbage_collector, lifecycle
from handloop_sandbox.engine import COMPACTION_SECONDS
from handloop_sandbox.storage import collection
from support.builders.widgets import CRDS, definition
from support.servers.local_server import LocalServer

_CORE = "/api/v1/namespaces/default"
_APPS = "/apis/apps/v1/namespaces/default"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
_APPLY = "application/apply-patch+yaml"


def _remembered(root: object) -> int:
    """How many objects can be reached from one, code aside."""
    seen = {id(root)}
    waiting = [root]
    while waiting:
        for other in gc.get_referents(waiting.pop()):
            if id(other) not in seen and not isinstance(other, (type, ModuleType, FunctionType)):
                seen.add(id(other))
                waiting.append(other)
    return len(seen)


def _pass(server: LocalServer, seconds: float) -> None:
    for _ in range(int(seconds * 4)):
        server.clock.now += 0.25
        server.engine.tick()


def _deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    return {"metadata": {"name": name}, "spec": spec}


def _round(server: LocalServer, number: int) -> None:
    """Objects of many kinds come, change and go; every name, manager, message, method and group is new."""

    def ask(method: str, path: str, body: Any = None, kind: str = "") -> None:
        answer = server.request(method, path, body, content_type=kind)
        assert answer.status in {200, 201}, answer

    name = f"x{number:05}"
    group = f"{name}.example.com"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"of": name}}}
    about = {"kind": "Pod", "namespace": "default", "name": name}
    service = {"selector": {"of": name}, "ports": [{"port": 80}]}
    ask("POST", f"{_CORE}/configmaps", {**body, "data": {name: name}})
    ask("PATCH", f"{_CORE}/configmaps/{name}?fieldManager={name}", body, _APPLY)
    ask("POST", f"{_CORE}/services", {"metadata": {"name": name}, "spec": service})
    ask("POST", f"{_CORE}/events", {"metadata": {"name": name}, "involvedObject": about, "reason": name})
    ask("PATCH", f"{_CORE}/events/{name}", {"count": 2}, "application/merge-patch+json")
    ask("POST", f"{_APPS}/deployments", _deployment(name))
    ask("POST", _BUDGETS, {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": name}}}})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    ask("POST", _SCALERS, {"metadata": {"name": name}, "spec": {"scaleTargetRef": target, "maxReplicas": 3}})
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    ask("POST", CRDS, definition(group, "things", "Thing"))
    _pass(server, 2)
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}}
    ask("POST", f"/apis/{group}/v1/namespaces/default/things", thing)
    server.engine.close(server.watch(f"{_CORE}/configmaps?watch=1"))
    server.request(name.upper(), f"{_CORE}/configmaps")
    for path in (
        f"{_CORE}/configmaps/{name}",
        f"{_CORE}/services/{name}",
        f"{_APPS}/deployments/{name}",
        f"{_BUDGETS}/{name}",
        f"{_SCALERS}/{name}",
        f"/api/v1/namespaces/{name}",
        f"{CRDS}/things.{group}",
    ):
        ask("DELETE", path)
    _pass(server, 6)


def _rest(server: LocalServer) -> None:
    """Let the last events expire, and the histories."""
    for name in "abc":
        server.clock.now += 3600
        server.request("POST", f"{_CORE}/events", {"metadata": {"name": name}, "involvedObject": {}})
        server.request("DELETE", f"{_CORE}/events/{name}")
        server.engine.tick()


def test_what_has_gone_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """After three times as many changes a sandbox holds no more."""
    monkeypatch.setattr(events, "_CACHE_SIZE", 16)
    monkeypatch.setattr(garbage_collector, "_REMEMBERED_OWNERS", 16)
    server = LocalServer(controllers=lifecycle.default_controllers(speed=10.0), history_size=20)
    held = []
    for number in range(60):
        _round(server, number)
        if number + 1 in {20, 60}:
            _rest(server)
            held.append(_remembered(server.engine))
    assert held[1] < held[0] * 1.01


def test_a_history_has_a_greatest_size_in_bytes(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large objects are remembered for fewer changes; a watch from before is Expired."""
    monkeypatch.setattr(collection, "MAX_BYTES", 100_000)
    ask = server.request
    first = ask("POST", f"{_CORE}/configmaps", {"metadata": {"name": "a"}, "data": {"a": "x" * 20_000}})
    bodies = [{"metadata": {"name": "a"}, "data": {"a": "y" * size}} for size in range(20_000, 20_010)]
    answers = [ask("PUT", f"{_CORE}/configmaps/a", body) for body in bodies]
    version = int(answers[-1].body["metadata"]["resourceVersion"])
    old = server.watch(
        f"{_CORE}/configmaps?watch=1&resourceVersion={first.body['metadata']['resourceVersion']}"
    )
    assert [event["object"]["code"] for event in server.events(old)] == [410]
    new = server.watch(f"{_CORE}/configmaps?watch=1&resourceVersion={version - 4}")
    assert [event["type"] for event in server.events(new)] == ["MODIFIED"] * 4


def test_history_ends_after_some_minutes(server: LocalServer) -> None:
    """Versions before the last compaction but one are gone: a watch and a list from there are Expired."""
    ask = server.request
    versions = []
    for name in "abcd":
        created = ask("POST", f"{_CORE}/configmaps", {"metadata": {"name": name}})
        versions.append(int(created.body["metadata"]["resourceVersion"]))
        server.clock.now += COMPACTION_SECONDS
    path = f"{_CORE}/configmaps?resourceVersion={versions[0]}"
    watch = server.watch(f"{path}&watch=1")
    assert [event["object"]["code"] for event in server.events(watch)] == [410]
    assert ask("GET", f"{path}&resourceVersionMatch=Exact").status == 410
    watch = server.watch(f"{_CORE}/configmaps?watch=1&resourceVersion={versions[2]}")
    assert [event["object"]["metadata"]["name"] for event in server.events(watch)] == ["d"]
