from __future__ import annotations

from typing import Any

import pytest

from support.servers.local_server import LocalServer, Reply, widget, with_widgets

_PODS = "/api/v1/namespaces/default/pods"


def _pod(server: LocalServer, *, node: str = "n1", **spec: Any) -> None:
    container = {"name": "c", "image": "i"}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container], "nodeName": node, **spec}}
    assert server.request("POST", _PODS, body).status == 201


def _delete_pod(server: LocalServer, query: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = server.request("DELETE", f"{_PODS}/p{query}").body["metadata"]
    return metadata


def test_pods_terminate_with_grace(server: LocalServer) -> None:
    """A running pod is marked with its own grace period; later ones only shorten it; zero removes it."""
    _pod(server, terminationGracePeriodSeconds=20)
    marked = _delete_pod(server)
    assert marked["deletionGracePeriodSeconds"] == 20
    assert marked["deletionTimestamp"] == "2023-11-14T22:13:40Z"
    assert marked["generation"] == 2
    server.clock.now += 5
    shorter = _delete_pod(server, "?gracePeriodSeconds=3")
    assert (shorter["deletionGracePeriodSeconds"], shorter["deletionTimestamp"]) == (
        3,
        "2023-11-14T22:13:23Z",
    )
    longer = _delete_pod(server, "?gracePeriodSeconds=9")
    assert longer == shorter
    assert _delete_pod(server, "?gracePeriodSeconds=0")["deletionGracePeriodSeconds"] == 0
    assert server.request("GET", f"{_PODS}/p").status == 404


def test_pods_that_run_nowhere_go_at_once(server: LocalServer) -> None:
    """A pod without a node needs no grace; the answer is still the pod."""
    _pod(server, node="")
    gone = server.request("DELETE", f"{_PODS}/p")
    assert gone.body["kind"] == "Pod"
    assert server.request("GET", f"{_PODS}/p").status == 404


@pytest.mark.parametrize(
    ("query", "finalizers"),
    [
        ("", ["x/y"]),
        ("?propagationPolicy=Background", ["x/y"]),
        ("?propagationPolicy=Foreground", ["x/y", "foregroundDeletion"]),
        ("?propagationPolicy=Orphan", ["x/y", "orphan"]),
        ("?orphanDependents=true", ["x/y", "orphan"]),
    ],
)
def test_policies_become_finalizers(server: LocalServer, query: str, finalizers: list[str]) -> None:
    """The propagation policy decides which finalizers an object waits for."""
    path = with_widgets(server)
    server.request("POST", path, widget("a", metadata={"finalizers": ["x/y"]}))
    going = server.request("DELETE", f"{path}/a{query}").body["metadata"]
    assert going["finalizers"] == finalizers
    assert going["deletionGracePeriodSeconds"] == 0


def test_the_policy_of_a_second_delete_replaces_the_first(server: LocalServer) -> None:
    """Foreground gives way to Orphan, and a delete without a policy changes nothing."""
    path = with_widgets(server)
    server.request("POST", path, widget("a", metadata={"finalizers": ["x/y"]}))
    server.request("DELETE", f"{path}/a?propagationPolicy=Foreground")
    orphaned = server.request("DELETE", f"{path}/a?propagationPolicy=Orphan").body["metadata"]
    assert orphaned["finalizers"] == ["x/y", "orphan"]
    assert server.request("DELETE", f"{path}/a").body["metadata"] == orphaned


def test_jobs_leave_their_pods_behind_by_default(server: LocalServer) -> None:
    """A Job deleted without a policy is orphaned, as the API of batch/v1 promises."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    path = "/apis/batch/v1/namespaces/default/jobs"
    assert (
        server.request("POST", path, {"metadata": {"name": "j"}, "spec": {"template": template}}).status
        == 201
    )
    assert server.request("DELETE", f"{path}/j").body["metadata"]["finalizers"] == ["orphan"]


def _namespace_reply(server: LocalServer) -> Reply:
    return server.request("DELETE", "/api/v1/namespaces/n")


def test_namespaces_wait_for_their_finalizer(server: LocalServer) -> None:
    """A namespace is Terminating until /finalize empties its finalizers; then it is gone."""
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    first, second = _namespace_reply(server), _namespace_reply(server)
    assert first.body["status"]["phase"] == "Terminating"
    assert first.body["metadata"]["resourceVersion"] == second.body["metadata"]["resourceVersion"]
    assert "deletionGracePeriodSeconds" not in first.body["metadata"]
    body = {**first.body, "spec": {"finalizers": []}}
    assert server.request("PUT", "/api/v1/namespaces/n/finalize", body).status == 200
    assert server.request("GET", "/api/v1/namespaces/n").status == 404


def test_collections(server: LocalServer) -> None:
    """A collection is deleted by selector, objects with finalizers are marked."""
    path = with_widgets(server)
    server.request("POST", path, widget("a", metadata={"labels": {"x": "1"}}))
    server.request("POST", path, widget("b", metadata={"finalizers": ["x/y"]}))
    deleted = server.request("DELETE", f"{path}?labelSelector=x%3D1")
    assert [item["metadata"]["name"] for item in deleted.body["items"]] == ["a"]
    server.request("DELETE", path)
    (left,) = server.request("GET", path).body["items"]
    assert left["metadata"]["deletionTimestamp"]


def test_dry_runs_delete_nothing(server: LocalServer) -> None:
    """With dryRun=All the answer is as if, and the object stays."""
    path = with_widgets(server)
    server.request("POST", path, widget("a"))
    assert server.request("DELETE", f"{path}/a?dryRun=All").body["status"] == "Success"
    assert server.request("DELETE", f"{path}?dryRun=All").status == 200
    assert server.request("GET", f"{path}/a").status == 200


def test_some_kinds_answer_with_the_object(server: LocalServer) -> None:
    """Deleting a service account answers with it, deleting a secret with a Status."""
    base = "/api/v1/namespaces/default"
    for plural, kind in (("serviceaccounts", "ServiceAccount"), ("secrets", "Status")):
        server.request("POST", f"{base}/{plural}", {"metadata": {"name": "x"}})
        assert server.request("DELETE", f"{base}/{plural}/x").body["kind"] == kind
