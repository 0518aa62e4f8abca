from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.adoption import Orphans, claim
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.storage.transaction import Transaction

_OWNER: Object = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web", "namespace": "n", "uid": "owner"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
}


def _pod(name: str, *, app: str = "web", controller: str = "", **metadata: Any) -> Object:
    owners = (
        [{"uid": controller, "kind": "ReplicaSet", "name": "x", "controller": True}] if controller else []
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "n",
            "labels": {"app": app},
            "ownerReferences": owners,
            **metadata,
        },
    }


def _names(objects: list[Object]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def test_claim_sorts_candidates() -> None:
    """Own objects stay if they match, free ones are taken if they do, others are let go or left alone."""
    candidates = [
        _pod("own", controller="owner"),
        _pod("lost", controller="owner", app="db"),
        _pod("free"),
        _pod("other", app="db"),
        _pod("theirs", controller="someone"),
    ]
    claimed = claim(_OWNER, PODS, candidates, _OWNER["spec"]["selector"])
    assert _names(claimed.objects) == ["own", "free"]
    written = {write.name: controller_of(write.object) if write.object else None for write in claimed.writes}
    assert list(written) == ["lost", "free"]
    assert written["lost"] is None
    assert written["free"] is not None
    assert written["free"]["uid"] == "owner"


def test_nothing_is_adopted_on_the_way_out() -> None:
    """An owner that is being deleted adopts and releases nothing; a pod in deletion is not adopted."""
    gone = {"deletionTimestamp": "2023-01-01T00:00:00Z"}
    leaving = {**_OWNER, "metadata": {**_OWNER["metadata"], **gone}}
    assert claim(
        leaving, PODS, [_pod("free"), _pod("lost", controller="owner", app="db")], leaving["spec"]["selector"]
    ) == ([], [])
    assert claim(_OWNER, PODS, [_pod("free", **gone)], _OWNER["spec"]["selector"]) == ([], [])


def test_orphans_follow_every_change() -> None:
    """Objects without a controller are known by namespace; only news about adoptability are reported."""
    store, orphans = Store(), Orphans(PODS)

    def put(pod: Object) -> bool:
        transaction = Transaction(store)
        transaction.put(PODS, pod)
        store.commit(transaction.changes)
        return _observe(transaction.changes)

    def _observe(changes: list[Change]) -> bool:
        return orphans.observe(changes[0])

    assert put(_pod("b"))
    assert put(_pod("a"))
    assert not put({**_pod("a"), "status": {}})
    assert put(_pod("a", app="db"))
    assert _names(list(orphans.among(store, "n"))) == ["a", "b"]
    assert not put(_pod("b", controller="owner"))
    assert _names(list(orphans.among(store, "n"))) == ["a"]
    assert put(_pod("b"))
    assert orphans.among(store, "other") == []
    transaction = Transaction(store)
    transaction.delete(PODS, "n", "a")
    store.commit(transaction.changes)
    assert not _observe(transaction.changes)
    assert _names(list(orphans.among(store, "n"))) == ["b"]
