"""Every write that passes is dry, and is noted; what cannot be dry does not pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from handloop.apis.core_v1 import Event, ObjectReference
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.access_review import Permission, check_access
from handloop.client.errors import APIError, Cancelled, NotFound
from handloop.client.http.response import Response
from handloop.client.resource_client import Client, PatchType
from handloop.client.rest_client import Call
from handloop.client.transport import ForwardingTransport
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.planning.attempt import (
    ATTEMPT,
    CANNOT_BE_DRY,
    MORE,
    WEBHOOK,
    Attempt,
    PlanEnds,
)
from handloop.controller.runtime.planning.dry_transport import DryTransport, merged
from handloop.kinds.core_v1 import ConfigMap, Namespace, Pod
from handloop.testing.fake_clock import FakeClock
from support.builders.myapp_builders import new_app
from support.rigs.managed_sandbox import ManagedSandbox


class Wire(ForwardingTransport):
    """Notes the writes that reach the server, and may answer in its place."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self.writes: list[tuple[str, str, bool]] = []
        self.refusal = b""

    def request(self, method: str, path: str, **options: Any) -> Response:
        """A write is dry if its options are, wherever the server reads them."""
        if method != "GET" and "reviews" not in path:
            body = json.loads(options.get("body") or b"{}") if method == "DELETE" else {}
            dry = options["query"].get("dryRun") == "All" and (not body or body["dryRun"] == ["All"])
            self.writes.append((method, path, dry))
            if self.refusal:
                return Response(400, {}, self.refusal)
        return super().request(method, path, **options)


class Rig:
    """A client in a reconcile of a plan."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(MyApp)
        self.wire = Wire(self.cluster.transport())
        self.dry = DryTransport(self.wire, FakeClock(moves_itself=True))
        self.client = Client(self.dry)
        self.attempt = Attempt("MyApp default/a")
        self.maps = self.client.resource(ConfigMap)

    def there(self, name: str, **data: str) -> ConfigMap:
        """A ConfigMap that the server has."""
        return self.cluster.client.resource(ConfigMap).create(config(name, **data), namespace="default")


def config(name: str, **data: str) -> ConfigMap:
    """A ConfigMap."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=FrozenMap(data))


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    token = ATTEMPT.set(made.attempt)
    yield made
    ATTEMPT.reset(token)


def shown(rig: Rig) -> list[tuple[Any, ...]]:
    """The writes: verb, name, subresource, and the fields with their new values."""
    return [
        (each.verb, each.name, each.subresource, {field.path: field.new for field in each.fields})
        for each in rig.attempt.writes
    ]


def test_each_verb_is_dry_and_noted(rig: Rig) -> None:
    """Create, update, patch, apply, delete and their statuses; the server keeps all as it is."""
    before = rig.there("a", x="1")
    rig.cluster.client.resource(MyApp).create(new_app("app"), namespace="default")
    rig.maps.create(config("new", x="1"), namespace="default")
    rig.maps.update(config("a", x="2"))
    rig.maps.patch("a", {"data": {"x": "3"}}, namespace="default")
    fields = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"y": "1"}}
    rig.maps.patch(
        "a", fields, patch_type=PatchType.APPLY, field_manager="we", force=True, namespace="default"
    )
    rig.client.resource(MyApp).patch(
        "app", {"status": {"readyReplicas": 2}}, subresource="status", namespace="default"
    )
    rig.maps.delete("a", uid=before.metadata.uid, namespace="default")
    assert shown(rig) == [
        ("create", "new", "", {"data.x": "1", "metadata.name": "new", "metadata.namespace": "default"}),
        ("update", "a", "", {"data.x": "2"}),
        ("patch", "a", "", {"data.x": "3"}),
        ("patch", "a", "", {"data.y": "1"}),
        ("patch", "app", "status", {"status.readyReplicas": 2}),
        ("delete", "a", "", {}),
    ]
    assert all(dry for _, _, dry in rig.wire.writes)
    assert rig.cluster.client.resource(ConfigMap).get("a", namespace="default") == before
    with pytest.raises(NotFound):
        rig.cluster.client.resource(ConfigMap).get("new", namespace="default")


def test_a_write_that_changes_nothing_is_not_noted(rig: Rig) -> None:
    """Nor one whose change an earlier write of the reconcile makes already."""
    rig.there("a", x="1")
    rig.maps.patch("a", {"data": {"x": "1"}}, namespace="default")
    rig.maps.patch("a", {"data": {"x": "2"}}, namespace="default")
    rig.maps.update(config("a", x="2"))
    assert shown(rig) == [("patch", "a", "", {"data.x": "2"})]


def test_what_was_created_can_be_read_and_changed(rig: Rig) -> None:
    """As far as a creation of both shows it; a name that the server makes up is not shown."""
    rig.maps.create(config("a", x="1"), namespace="default")
    assert rig.maps.get("a", namespace="default").data == {"x": "1"}
    assert rig.maps.patch("a", {"data": {"x": None, "y": "2"}}, namespace="default").data == {"y": "2"}
    assert rig.maps.update(config("a", z="3")).data == {"z": "3"}
    made = rig.maps.create(ConfigMap(metadata=ObjectMeta(generate_name="b-", namespace="default")))
    rig.maps.patch(
        made.metadata.name, {"data": {"x": "1"}}, patch_type=PatchType.STRATEGIC, namespace="default"
    )
    assert [each[:2] for each in shown(rig)] == [
        ("create", "a"),
        ("patch", "a"),
        ("update", "a"),
        ("create", "b-*"),
        ("patch", made.metadata.name),
    ]


def test_a_step_that_needs_an_earlier_write_ends_the_plan_of_the_name(rig: Rig) -> None:
    """An object in a new namespace, one made anew, an apply to a new one; nothing more is sent."""
    rig.client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name="new")))
    with pytest.raises(PlanEnds, match="Namespace new has to exist first"):
        rig.maps.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="new")))
    sent = len(rig.wire.writes)
    with pytest.raises(PlanEnds):
        rig.maps.create(config("b"), namespace="default")
    assert (rig.attempt.ended[0], len(rig.wire.writes)) == (MORE, sent)


def test_what_is_deleted_is_not_made_anew(rig: Rig) -> None:
    """The server still has it: its AlreadyExists is no failure of the reconcile."""
    rig.there("a")
    rig.maps.delete("a", namespace="default")
    with pytest.raises(PlanEnds, match="configmaps a has to be deleted first"):
        rig.maps.create(config("a"), namespace="default")


def test_an_apply_to_what_was_created_ends_it(rig: Rig) -> None:
    """Only the server knows what becomes of it."""
    rig.maps.create(config("a"), namespace="default")
    with pytest.raises(PlanEnds, match="ConfigMap default/a is changed once it exists"):
        rig.maps.patch("a", {"data": {}}, patch_type=PatchType.APPLY, field_manager="we", namespace="default")


@pytest.mark.parametrize(
    "message", ["does not support dry run", "denied the request: UPDATE denied in dry-run"]
)
def test_a_webhook_that_takes_no_dry_run_ends_it(rig: Rig, message: str) -> None:
    """With its name: such a write is no failure."""
    said = f'admission webhook "no.example.com" {message}'
    rig.wire.refusal = json.dumps({"kind": "Status", "message": said}).encode()
    with pytest.raises(PlanEnds):
        rig.maps.create(config("a"), namespace="default")
    assert rig.attempt.ended == (WEBHOOK, "no.example.com")


def test_what_a_run_would_be_refused_is_refused(rig: Rig) -> None:
    """The author's code gets the server's error."""
    rig.wire.refusal = b'{"kind":"Status","message":"admission webhook \\"a\\" denied the request: no"}'
    with pytest.raises(APIError, match="denied the request: no"):
        rig.maps.create(config("a"), namespace="default")
    assert rig.attempt.ended == ("", "")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/pods/a/exec",
        "/api/v1/namespaces/default/services/a/proxy/do/it",
        "/somewhere",
        "/apis/other.example.com/v1/things",
    ],
)
def test_what_cannot_be_dry_is_not_sent(rig: Rig, path: str) -> None:
    """What leads into a pod, is no object, or is a server's that may write all the same."""
    with pytest.raises(Cancelled, match="not sent in a plan"):
        rig.client.send(Call("create", "POST", path, body=b"{}"))
    assert (rig.wire.writes, rig.attempt.ended[0]) == ([], CANNOT_BE_DRY)


def test_an_eviction_makes_no_object(rig: Rig) -> None:
    """It is noted; the pod that is read or changed afterwards is the pod, and not the server's response."""
    spec = {"containers": [{"name": "c", "image": "x"}]}
    rig.cluster.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
    body = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}).encode()
    path = "/api/v1/namespaces/default/pods/p/eviction"
    rig.client.send(Call("create", "POST", path, headers={"Content-Type": "application/json"}, body=body))
    pods = rig.client.resource(Pod)
    assert pods.get("p", namespace="default").metadata.name == "p"
    pods.patch("p", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    assert [(each.verb, each.kind, each.name, each.subresource) for each in rig.attempt.writes] == [
        ("create", "Pod", "p", "eviction"),
        ("patch", "Pod", "p", ""),
    ]


def test_events_stay_here_and_reviews_pass(rig: Rig) -> None:
    """The first would be news of what did not happen, the others are questions."""
    about = ObjectReference(kind="MyApp", name="a", namespace="default")
    event = Event(metadata=ObjectMeta(name="e", namespace="default"), involved_object=about)
    rig.client.resource(Event).create(event)
    assert check_access(rig.client, Permission("list", MyApp.resource)).allowed
    assert (rig.wire.writes, rig.attempt.writes) == ([], ())


def test_a_write_of_no_reconcile_is_dry_too(rig: Rig) -> None:
    """Such as one of a thread that a reconcile has started."""
    token = ATTEMPT.set(None)
    rig.maps.create(config("a"), namespace="default")
    ATTEMPT.reset(token)
    assert [(each.owner, each.name) for each in rig.dry.beside] == [("", "a")]
    assert all(dry for _, _, dry in rig.wire.writes)


def test_a_merge_patch() -> None:
    """RFC 7386: maps are merged, null removes, all else is replaced."""
    assert merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"c": None, "e": {"f": None}}, "d": [2]}) == {
        "a": {"b": 1, "e": {}},
        "d": [2],
    }
