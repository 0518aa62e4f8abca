from __future__ import annotations

import random
from typing import Any

from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.documents import Site
from handloop_sandbox.requests.request import Context, User
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.system_writes import Done, carry_out
from handloop_sandbox.wire.resource import GroupResource

_MAPS = GroupResource("", "configmaps")
_PODS = GroupResource("", "pods")
_NAMESPACES = GroupResource("", "namespaces")


class _Cluster:
    def __init__(self) -> None:
        self.store = Store()
        self.site = Site(self.store, Catalog(builtin_resources()), "127.0.0.1", lambda: "")
        self.do(Write(verb="create", group_resource=_NAMESPACES, namespace="", name="n", object=_object("n")))

    def do(self, write: Write) -> Done:
        context = Context(1000.0, User("me"), random.Random(1), lambda: f"uid-{self.store.resource_version}")
        done = carry_out(self.site, write, "tester", context)
        self.store.commit(done.changes)
        return done

    def get(self, kind: GroupResource, name: str, namespace: str = "n") -> dict[str, Any] | None:
        return self.store.get(kind, namespace, name)


def _object(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


def _create(kind: GroupResource, obj: dict[str, Any]) -> Write:
    return Write(verb="create", group_resource=kind, namespace="n", name=obj["metadata"]["name"], object=obj)


def test_creates_are_complete() -> None:
    """A created object has defaults, identity, version and the controller as its manager."""
    cluster = _Cluster()
    assert cluster.do(_create(_MAPS, _object("c", data={"a": "1"}))).refusal is None
    created = cluster.get(_MAPS, "c")
    assert created is not None
    assert created["metadata"]["namespace"] == "n"
    assert created["metadata"]["managedFields"][0]["manager"] == "tester"


def test_updates_need_no_version() -> None:
    """An update is unconditional; one that changes nothing is no change."""
    cluster = _Cluster()
    cluster.do(_create(_MAPS, _object("c", data={"a": "1"})))
    current = cluster.get(_MAPS, "c")
    assert current is not None
    stale = {**current, "data": {"a": "2"}, "metadata": {**current["metadata"], "resourceVersion": "1"}}
    update = Write(verb="update", group_resource=_MAPS, namespace="n", name="c", object=stale)
    assert len(cluster.do(update).changes) == 1
    assert cluster.do(update).changes == ()


def test_the_status_is_written_by_itself() -> None:
    """With subresource status the rest of the object stays."""
    cluster = _Cluster()
    cluster.do(_create(_PODS, _object("p", spec={"containers": [{"name": "c", "image": "i"}]})))
    pod = cluster.get(_PODS, "p")
    assert pod is not None
    changed = {
        **pod,
        "spec": {**pod["spec"], "nodeName": "x"},
        "status": {**pod["status"], "phase": "Running"},
    }
    cluster.do(
        Write(
            verb="update", group_resource=_PODS, namespace="n", name="p", object=changed, subresource="status"
        )
    )
    after = cluster.get(_PODS, "p")
    assert after is not None
    assert (after["status"]["phase"], "nodeName" in after["spec"]) == ("Running", False)


def test_pods_are_bound() -> None:
    """A binding puts the pod on its node; a second one is refused."""
    cluster = _Cluster()
    cluster.do(_create(_PODS, _object("p", spec={"containers": [{"name": "c", "image": "i"}]})))
    binding = {"target": {"kind": "Node", "name": "n1"}}
    write = Write(
        verb="create", group_resource=_PODS, namespace="n", name="p", object=binding, subresource="binding"
    )
    assert cluster.do(write).refusal is None
    bound = cluster.get(_PODS, "p")
    assert bound is not None
    assert bound["spec"]["nodeName"] == "n1"
    refusal = cluster.do(write).refusal
    assert refusal is not None
    assert refusal["code"] == 409


def test_deletes_have_options() -> None:
    """Preconditions, grace and propagation are those of a request."""
    cluster = _Cluster()
    cluster.do(_create(_MAPS, _object("c")))
    wrong = cluster.do(Write(verb="delete", group_resource=_MAPS, namespace="n", name="c", uid="other"))
    assert wrong.refusal is not None
    assert wrong.refusal["code"] == 409
    orphan = Write(verb="delete", group_resource=_MAPS, namespace="n", name="c", propagation="Orphan")
    cluster.do(orphan)
    left = cluster.get(_MAPS, "c")
    assert left is not None
    assert left["metadata"]["finalizers"] == ["orphan"]
    gone = cluster.do(Write(verb="delete", group_resource=_MAPS, namespace="n", name="nothing"))
    assert gone.refusal is not None
    assert gone.refusal["code"] == 404


def test_refusals_are_statuses() -> None:
    """What a client would be refused a controller is refused too."""
    cluster = _Cluster()
    bad = cluster.do(_create(_MAPS, _object("Bad Name")))
    assert bad.refusal is not None
    assert (bad.refusal["code"], bad.changes) == (422, ())
    wrong = cluster.do(_create(_MAPS, _object("c", data=5)))
    assert wrong.refusal is not None
    assert wrong.refusal["code"] == 400
    unknown = cluster.do(_create(GroupResource("x", "y"), _object("c")))
    assert unknown.refusal is not None
    assert unknown.refusal["code"] == 404


def test_parts_from_the_store_are_kept() -> None:
    """What a step took from the store stays as it is; what it made is decoded, in the order that it gave."""
    cluster = _Cluster()
    cluster.do(_create(_MAPS, _object("c", data={"a": "1"})))
    before = cluster.get(_MAPS, "c")
    assert before is not None
    changed = {**before, "metadata": {**before["metadata"], "labels": {"b": "2"}, "unknown": "3"}}
    assert cluster.do(Write.of("update", _MAPS, changed)).refusal is None
    after = cluster.get(_MAPS, "c")
    assert after is not None
    assert after["data"] is before["data"]
    assert (after["metadata"]["labels"], "unknown" in after["metadata"]) == ({"b": "2"}, False)
    assert [*after] == [*before]
