from __future__ import annotations

import re
from typing import Any

import pytest

from handloop_sandbox.clock import SettableClock
from handloop_sandbox.controls import controls
from handloop_sandbox.controls.moved_clock import Move, move
from handloop_sandbox.requests.request import Response, User
from handloop_sandbox.server import Sandbox
from support.servers.local_server import LocalServer, widget, with_widgets

_MAPS = "/api/v1/namespaces/default/configmaps"
_FAULTS = "/sandbox/faults"
_POD = "{metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}"
_WORKLOADS = f"""
{{apiVersion: v1, kind: Namespace, metadata: {{name: shop}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: a, namespace: shop}}
spec: {{ports: [{{port: 80}}], selector: {{app: a}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: a, namespace: shop}}
spec: {{replicas: 3, selector: {{matchLabels: {{app: a}}}}, template: {_POD}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: a, namespace: shop}}
spec: {{maxReplicas: 5, minReplicas: 4, scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: a}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: a, finalizers: [example.org/keep]}}
spec:
  schedule: "* * * * *"
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}}}
"""


def test_faults_are_added_listed_and_cleared(server: LocalServer) -> None:
    """POST, GET and DELETE, as curl would."""
    added = server.request("POST", _FAULTS, {"fault": "error", "code": 503, "verbs": ["list"]})
    assert (added.status, added.body["id"]) == (201, "f1")
    assert server.request("GET", _MAPS).status == 503
    listed = server.request("GET", _FAULTS)
    assert listed.body == {
        "items": [{"id": "f1", "fault": "error", "code": 503, "verbs": ["list"], "hits": 1}]
    }
    server.request("POST", _FAULTS, {"fault": "deny"})
    assert server.request("DELETE", f"{_FAULTS}/f1").status == 200
    assert server.request("GET", _MAPS).status == 403
    assert server.request("DELETE", _FAULTS).body["details"] == {"cleared": 1}
    assert server.request("GET", _MAPS).status == 200


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"fault": "error", "code": 99}, "Expected `int` >= 400 - at `$.code`"),
        ({"fault": "magic"}, "Invalid value 'magic'"),
        ({"fault": "deny", "verb": "get"}, "unknown field `verb`"),
        ({}, "missing required field `fault`"),
        (b"{", "Input data was truncated"),
    ],
)
def test_nonsense_is_reported(body: object, text: str) -> None:
    """400 with the place and the reason."""
    answer = LocalServer().request("POST", _FAULTS, body)
    assert answer.status == 400
    assert text in answer.message


def test_numbers_may_come_as_text(server: LocalServer) -> None:
    """A shell script need not care."""
    assert server.request("POST", _FAULTS, {"fault": "latency", "delaySeconds": "0.5"}).status == 201


def test_compact_and_rewind(server: LocalServer) -> None:
    """Both act at once; a version that is forgotten is 400."""
    server.request("POST", _MAPS, {"metadata": {"name": "a"}})
    before = str(server.engine.version() - 1)
    rewound = server.request("POST", "/sandbox/rewind", {"changes": 1})
    assert (rewound.status, rewound.body) == (200, {"resourceVersion": before})
    assert server.request("GET", f"{_MAPS}/a").status == 404
    server.request("POST", _MAPS, {"metadata": {"name": "b"}})
    assert server.request("POST", "/sandbox/compact").status == 200
    refused = server.request("POST", "/sandbox/rewind", {"resourceVersion": before})
    assert (refused.status, "is forgotten" in refused.message) == (400, True)
    assert server.request("POST", "/sandbox/rewind", {}).status == 400
    assert server.request("POST", "/sandbox/compact", {"resourceVersion": "1"}).status == 200


def test_other_paths_and_methods(server: LocalServer) -> None:
    """404 for a missing one, 405 for a method that it does not have."""
    assert server.request("GET", "/sandbox/nonsense").status == 404
    assert server.request("POST", "/sandbox/jobs/default/a/explode").status == 404
    for path in ("/sandbox/load", "/sandbox/reset", "/sandbox/keep", "/sandbox/jobs/default/a/finish"):
        assert server.request("GET", path).status == 405
    assert server.request("DELETE", f"{_FAULTS}/f9").status == 404
    assert server.request("PUT", _FAULTS, {}).status == 405
    assert server.request("GET", "/sandbox/rewind").status == 405


def test_the_prefix_alone_says_what_there_is(server: LocalServer) -> None:
    """Each line is a request that is understood."""
    answer = server.send("GET", "/sandbox")
    assert isinstance(answer, Response)
    told = answer.content().decode()
    for method, path in re.findall(r"^(GET|POST|DELETE) +(/sandbox/\S+)", told, re.MULTILINE):
        assert server.request(method, path, {} if method == "POST" else None).status != 405, path
    assert told.count("/sandbox/") == 11


def test_a_reset_brings_back_the_start(server: LocalServer) -> None:
    """All objects, kinds and faults go, what was changed or deleted is back, and watches see it."""
    at_first = server.request("GET", "/api/v1/namespaces").body["items"]
    widgets = with_widgets(server)
    server.request("POST", widgets, widget("w", metadata={"finalizers": ["example.org/keep"]}))
    server.request("DELETE", f"{widgets}/w")
    server.request("POST", _MAPS, {"metadata": {"name": "a"}})
    merge = "application/merge-patch+json"
    changed = {"metadata": {"labels": {"a": "b"}}}
    server.request("PATCH", "/api/v1/namespaces/default", changed, content_type=merge)
    server.request("DELETE", "/api/v1/namespaces/kube-public")
    server.request("POST", _FAULTS, {"fault": "error", "code": 503, "resources": ["secrets"]})
    watcher = server.watch(f"{_MAPS}?watch=1&resourceVersion={server.engine.version()}")

    assert server.request("POST", "/sandbox/reset").body["details"]["changed"] > 0

    again = server.request("GET", "/api/v1/namespaces").body["items"]
    assert [_unversioned(each) for each in again] == [_unversioned(each) for each in at_first]
    assert server.request("GET", widgets).status == 404
    assert server.request("GET", _FAULTS).body == {"items": []}
    assert [(each["type"], each["object"]["metadata"]["name"]) for each in server.events(watcher)] == [
        ("DELETED", "a")
    ]
    assert server.request("POST", "/sandbox/reset").body["details"] == {"changed": 0}
    assert server.request("POST", _MAPS, {"metadata": {"name": "a"}}).status == 201


def test_a_reset_comes_back_to_what_was_kept(server: LocalServer) -> None:
    """A suite installs its definitions once: they stay, served, and their objects go."""
    widgets = with_widgets(server)
    assert server.request("POST", "/sandbox/keep").status == 200
    server.request("POST", widgets, widget("w"))
    assert server.request("POST", "/sandbox/reset").body["details"] == {"changed": 1}
    assert server.request("GET", widgets).body["items"] == []


def _unversioned(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}}


def test_only_administrators_break_things() -> None:
    """Others get 403, strangers 401."""
    users = {"a": User("alice", ("system:masters",)), "b": User("bob", ("system:authenticated",))}
    server = LocalServer(users=users)
    assert server.request("GET", _FAULTS, authorization="Bearer a").status == 200
    assert server.request("GET", _FAULTS, authorization="Bearer b").status == 403
    assert server.request("GET", _FAULTS).status == 403
    assert server.request("GET", _FAULTS, authorization="Bearer c").status == 401
    assert server.request("GET", "/a/sandbox/faults").status == 200


def test_the_prefix_is_a_whole_word() -> None:
    """`/sandboxes` is another path."""
    assert controls.concerns("/sandbox")
    assert controls.concerns("/sandbox/faults")
    assert not controls.concerns("/sandboxes")
    assert not controls.concerns("/api/sandbox")


def test_a_cluster_lives_on_as_a_fresh_one_after_a_reset() -> None:
    """No controller remembers what was there: two minutes later there is what a new sandbox has, no more."""
    lively, fresh = (Sandbox(clock=SettableClock(1_700_000_000.0, frozen=True), seed=1) for _ in range(2))
    for sandbox in (lively, fresh):
        move(sandbox.engine, Move(advance_seconds=60))
    workloads = _WORKLOADS.encode()
    assert lively.transport().request("POST", "/sandbox/load", body=workloads).status == 200
    move(lively.engine, Move(advance_seconds=60))
    assert len(_names(lively)) > len(_names(fresh)) + 10
    assert lively.transport().request("POST", "/sandbox/reset").status == 200
    move(lively.engine, Move(advance_seconds=120))
    assert _names(lively) == _names(fresh)


def _names(sandbox: Sandbox) -> set[str]:
    store = sandbox.engine._store
    return {f"{place} {key}" for place, objects in store.snapshot().items() for key in objects}
