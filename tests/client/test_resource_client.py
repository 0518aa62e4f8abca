from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml

from handloop.apis.apps_v1 import Deployment
from handloop.apis.evolve import evolve
from handloop.apis.meta import LAST_APPLIED, Kind, ObjectMeta
from handloop.apis.partial_metadata import PartialObjectMetadata
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.errors import DecodeError, InvalidName, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, PatchType, ResourceClient, codec_of
from handloop.client.rest_client import Call
from handloop.controller.foo.types import Foo, FooSpec, FooStatus
from handloop.kinds.core_v1 import Secret
from support.doubles.scripted_transport import ScriptedStream, ScriptedTransport, Sent, answer

ROOT = "/apis/samplecontroller.k8s.io/v1alpha1"
FOO = Foo(
    metadata=ObjectMeta(name="web", namespace="ns", resource_version="7"),
    spec=FooSpec(deployment_name="web", replicas=2),
    status=FooStatus(available_replicas=1),
)
BODY = json.dumps(
    {
        "kind": "Foo",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "metadata": {"name": "web", "namespace": "ns", "resourceVersion": "8"},
        "spec": {"deploymentName": "web", "replicas": 2},
    }
).encode()

PAGE = (
    b'{"kind":"FooList","apiVersion":"samplecontroller.k8s.io/v1alpha1","metadata":{"resourceVersion":"9"}}'
)


class Rig:
    """A client of Foos whose every answer is a Foo."""

    def __init__(self, *answers: Any, streams: Any = ()) -> None:
        self.transport = ScriptedTransport(answers or [answer(200, BODY)] * 5, streams)
        self.client = Client(self.transport)
        self.foos: ResourceClient[Foo] = self.client.resource(Foo)

    @property
    def sent(self) -> Sent:
        return self.transport.sent[-1]

    def body(self) -> Any:
        assert self.sent.body is not None
        return json.loads(self.sent.body)


@pytest.fixture
def rig() -> Rig:
    """Every answer is a Foo."""
    return Rig()


def test_create(rig: Rig) -> None:
    """POST to the collection of the object's namespace; the stored object comes back."""
    created = rig.foos.create(FOO, field_manager="me")
    assert (rig.sent.method, rig.sent.path) == ("POST", f"{ROOT}/namespaces/ns/foos")
    assert rig.sent.query == {"fieldManager": "me"}
    assert rig.sent.headers["content-type"] == "application/json"
    assert rig.body()["kind"] == "Foo"
    assert rig.body()["spec"] == {"deploymentName": "web", "replicas": 2}
    assert created.metadata.resource_version == "8"


def test_create_in_a_given_namespace(rig: Rig) -> None:
    """A namespace that is given beats the object's."""
    rig.foos.create(FOO, namespace="other", dry_run=True)
    assert rig.sent.path == f"{ROOT}/namespaces/other/foos"
    assert rig.sent.query == {"dryRun": "All"}


def test_get(rig: Rig) -> None:
    """GET of the object, or of a subresource that has its shape."""
    assert rig.foos.get("web", namespace="ns").spec.replicas == 2
    assert (rig.sent.method, rig.sent.path) == ("GET", f"{ROOT}/namespaces/ns/foos/web")
    rig.foos.get("web", namespace="ns", subresource="status")
    assert rig.sent.path == f"{ROOT}/namespaces/ns/foos/web/status"


def test_managed_fields_come_only_to_those_who_may_read_them() -> None:
    """Reads of typed objects do without; an Unstructured keeps them, and a write's answer tells who wrote."""
    rig = Rig(*[answer(200, BODY)] * 3, answer(200, PAGE), answer(200, BODY), answer(200, PAGE), streams=[
        ScriptedStream(), ScriptedStream()])  # fmt: skip
    rig.foos.create(FOO)
    rig.foos.patch("web", {}, namespace="ns")
    for foos in (rig.foos, rig.client.for_resource(Foo.resource)):
        foos.get("web", namespace="ns")
        foos.list("ns")
        foos.watch("ns")
    plain, dropping = "application/json", "application/json;drop=metadata.managedFields"
    accepted = [sent.headers["accept"] for sent in rig.transport.sent]
    assert accepted == [plain] * 2 + [dropping] * 3 + [plain] * 3


def test_names_are_encoded(rig: Rig) -> None:
    """A name cannot lead to another URL."""
    rig.foos.get("..&pods?x=1", namespace="a b")
    assert rig.sent.path == f"{ROOT}/namespaces/a%20b/foos/..%26pods%3Fx%3D1"


@pytest.mark.parametrize("call", ["get", "delete", "patch", "update"])
def test_an_empty_name_is_refused(rig: Rig, call: str) -> None:
    """Without a name the path would be that of the whole collection, which a delete would empty."""
    actions: dict[str, Any] = {
        "get": lambda: rig.foos.get("", namespace="ns"),
        "delete": lambda: rig.foos.delete("", namespace="ns"),
        "patch": lambda: rig.foos.patch("", {}, namespace="ns"),
        "update": lambda: rig.foos.update(Foo(metadata=ObjectMeta(namespace="ns"))),
    }
    with pytest.raises(ValueError, match="must not be empty"):
        actions[call]()
    assert rig.transport.sent == []


def test_list_sends_its_options() -> None:
    """One call is one page, of a namespace or of all."""
    page = {
        "kind": "FooList",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "metadata": {"resourceVersion": "9", "continue": "tok"},
        "items": [json.loads(BODY)],
    }
    rig = Rig(answer(200, json.dumps(page).encode()), answer(200, json.dumps(page).encode()))
    found = rig.foos.list(options=ListOptions(limit=500, label_selector="a=b"))
    assert (rig.sent.method, rig.sent.path) == ("GET", f"{ROOT}/foos")
    assert rig.sent.query == {"labelSelector": "a=b", "limit": "500"}
    assert ([item.metadata.name for item in found.items], found.continue_token) == (["web"], "tok")
    rig.foos.list("ns")
    assert rig.sent.path == f"{ROOT}/namespaces/ns/foos"


def test_watch_reads_events() -> None:
    """A watch is a GET with watch=true whose lines become events."""
    line = b'{"type":"ADDED","object":' + BODY + b"}\n"
    rig = Rig(streams=[ScriptedStream([line])])
    stream = rig.foos.watch("ns", options=ListOptions(resource_version="9", allow_watch_bookmarks=True))
    assert rig.sent.query == {"resourceVersion": "9", "watch": "true", "allowWatchBookmarks": "true"}
    (event,) = stream.read()
    assert isinstance(event.object, Foo)
    assert stream.read() == []


def test_update_and_update_status(rig: Rig) -> None:
    """PUT of the whole object to its path, and of its status to the subresource."""
    rig.foos.update(FOO, field_manager="me")
    assert (rig.sent.method, rig.sent.path) == ("PUT", f"{ROOT}/namespaces/ns/foos/web")
    assert rig.body()["metadata"]["resourceVersion"] == "7"
    assert rig.sent.query == {"fieldManager": "me"}
    rig.foos.update_status(FOO)
    assert rig.sent.path == f"{ROOT}/namespaces/ns/foos/web/status"
    assert rig.body()["status"] == {"availableReplicas": 1}


def test_an_update_of_a_partial_view_is_refused(rig: Rig) -> None:
    """It would erase what the view does not hold, such as a container's command. Nothing is sent."""
    deployments = rig.client.resource(Deployment)
    for update in (deployments.update, deployments.update_status):
        with pytest.raises(TypeError, match=r"update.* of a partial view, Deployment, .*: patch or apply"):
            update(Deployment.named("web", namespace="ns"))
    assert rig.transport.sent == []


@pytest.mark.parametrize(
    ("patch_type", "media_type", "patch"),
    [
        (PatchType.MERGE, "application/merge-patch+json", {"spec": {"replicas": 3}}),
        (
            PatchType.JSON,
            "application/json-patch+json",
            [{"op": "replace", "path": "/spec/replicas", "value": 3}],
        ),
        (PatchType.STRATEGIC, "application/strategic-merge-patch+json", {"spec": {"replicas": None}}),
        (PatchType.APPLY, "application/apply-patch+yaml", {"apiVersion": "x", "kind": "Foo"}),
    ],
)
def test_each_patch_type_has_its_media_type(
    rig: Rig, patch_type: PatchType, media_type: str, patch: Any
) -> None:
    """The server distinguishes the four kinds of patches by Content-Type."""
    rig.foos.patch("web", patch, namespace="ns", patch_type=patch_type)
    assert rig.sent.method == "PATCH"
    assert rig.sent.headers["content-type"] == media_type
    assert rig.body() == patch


def test_an_apply_is_json_that_yaml_reads_alike(rig: Rig) -> None:
    """The server reads it as YAML, where DEL is an error and NEL ends a line; other patches stay alike."""
    text = "x\x00\x1b\x7f\x85\x9f\u2028 \ufeff\uffff\N{FOX FACE}y"
    rig.foos.patch("web", {"a": text}, namespace="ns", patch_type=PatchType.APPLY, field_manager="me")
    assert rig.sent.body is not None
    assert yaml.safe_load(rig.sent.body) == rig.body() == {"a": text}
    rig.foos.patch("web", {"a": text}, namespace="ns")
    assert b"\x7f" in (rig.sent.body or b"")


def test_patch_options(rig: Rig) -> None:
    """Subresource, manager, force and dry run are sent; bytes are sent as they are."""
    rig.foos.patch(
        "web", b'{"a":1}', namespace="ns", subresource="status", field_manager="me", force=True, dry_run=True
    )
    assert rig.sent.path == f"{ROOT}/namespaces/ns/foos/web/status"
    assert rig.sent.query == {"fieldManager": "me", "dryRun": "All", "force": "true"}
    assert rig.sent.body == b'{"a":1}'
    rig.foos.patch("web", {}, namespace="ns", force=False)
    assert rig.sent.query == {"force": "false"}


def test_delete_with_preconditions(rig: Rig) -> None:
    """Preconditions and policies travel in DeleteOptions."""
    rig.foos.delete(
        "web",
        namespace="ns",
        uid="u",
        resource_version="7",
        propagation_policy="Foreground",
        grace_period_seconds=0,
        dry_run=True,
    )
    assert (rig.sent.method, rig.sent.path) == ("DELETE", f"{ROOT}/namespaces/ns/foos/web")
    assert rig.body() == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


def test_a_plain_delete_has_no_body() -> None:
    """Without options nothing is sent; the content of a 200 is ignored."""
    rig = Rig(answer(200, b'{"kind":"Status","status":"Success"}'))
    rig.foos.delete("web", namespace="ns")
    assert rig.sent.body is None


def test_errors_name_the_object() -> None:
    """The error of every method names its request."""
    body = b'{"kind":"Status","reason":"NotFound","code":404,"message":"gone","details":{"name":"web"}}'
    rig = Rig(answer(404, body), answer(404, body))
    with pytest.raises(NotFound, match=r"get foos.samplecontroller.k8s.io ns/web: gone \(404 NotFound\)"):
        rig.foos.get("web", namespace="ns")
    with pytest.raises(NotFound, match=r"update status foos.samplecontroller.k8s.io ns/web: gone"):
        rig.foos.update_status(FOO)


def test_an_untyped_kind() -> None:
    """A kind without a type has the same client, with objects that keep their bytes."""
    resource = Resource("", "v1", "nodes", "Node", namespaced=False)
    body = b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"spec":{"podCIDR":"10.0.0.0/24"}}'
    rig = Rig(answer(200, body))
    node = rig.client.for_resource(resource).get("n")
    assert rig.sent.path == "/api/v1/nodes/n"
    assert node.content()["spec"] == {"podCIDR": "10.0.0.0/24"}


def test_version_and_raw_paths() -> None:
    """The server's version, and any path as bytes."""
    rig = Rig(answer(200, b'{"major":"1","minor":"36","gitVersion":"v1.36.3"}'), answer(200, b"ok"))
    assert str(rig.client.version()) == "v1.36.3"
    assert rig.client.get_raw("/readyz") == b"ok"
    assert rig.sent.path == "/readyz"


def test_requests_can_be_given_less_time() -> None:
    """Must not hang: a lease that has to be renewed. The client it came from keeps its own time."""
    rig = Rig(answer(200, msgspec.json.encode(FOO)), answer(200, msgspec.json.encode(FOO)))
    rig.foos.within(2.5).get("web", namespace="ns")
    assert rig.sent.timeout_seconds == 2.5
    rig.foos.get("web", namespace="ns")
    assert rig.sent.timeout_seconds is None


def test_an_object_without_its_namespace_is_not_asked_for(rig: Rig) -> None:
    """The server would answer "no such page", which reads as if the object were gone."""
    foo = Foo(metadata=ObjectMeta(name="web"), spec=FooSpec(deployment_name="web"))
    for ask in (
        lambda: rig.foos.get("web"),
        lambda: rig.foos.create(foo),
        lambda: rig.foos.update(foo),
        lambda: rig.foos.update_status(foo),
        lambda: rig.foos.patch("web", {}),
        lambda: rig.foos.delete("web"),
    ):
        with pytest.raises(ValueError, match="a Foo needs a namespace"):
            ask()
    assert rig.transport.sent == []


def test_clients_name_their_program(rig: Rig) -> None:
    """For a notebook, or a debugger."""
    assert repr(rig.client).startswith("<Client of ")
    assert repr(rig.foos) == "<ResourceClient of foos.samplecontroller.k8s.io/v1alpha1>"


# -- the codec


WIDGETS = Resource("conf.example.com", "v1", "widgets", "Widget")


def widget(name: str = "w", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": "5"}
    return {"kind": "Widget", "apiVersion": "conf.example.com/v1", "metadata": metadata} | fields


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"kind":"Bar"}', b'{"apiVersion":"v2"}', b'{"x":"\xff"}'], ids=repr
)
def test_what_is_not_the_kind_is_one_error(body: bytes) -> None:
    """An answer that is not the object raises DecodeError."""
    with pytest.raises(DecodeError):
        codec_of(Foo).decode(body)
    with pytest.raises(DecodeError):
        codec_of(Unstructured.of_resource(WIDGETS)).decode(body)


def test_unknown_fields_are_skipped_and_deep_ones_too() -> None:
    """A typed view sees its own fields only, however deep the others are."""
    body = b'{"metadata":{"name":"d"},"spec":{"strategy":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    assert codec_of(Deployment).decode(body).metadata.name == "d"


class SecretMeta(Kind, group="", version="v1", kind="Secret"):
    """A Secret without its data."""


class AskingSecretMeta(Kind, group="", version="v1", kind="Secret"):
    """The same, which asks for kubectl's copy."""

    keeps_last_applied = True


@pytest.mark.parametrize(("kind", "keeps"), [(SecretMeta, False), (AskingSecretMeta, True), (Secret, True)])
def test_a_view_has_no_copy_of_what_it_leaves_out(kind: type[Kind], keeps: bool) -> None:
    """Kubectl keeps the whole object in an annotation; a complete type needs it, as a PUT sends it back."""
    annotations = {LAST_APPLIED: '{"stringData":{"p":"hunter2"}}', "mine": "1"}
    metadata = {"name": "s", "resourceVersion": "8", "annotations": annotations}
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": metadata}
    page = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [secret]}
    codec = codec_of(kind)
    decoded = codec.events().decode(json.dumps({"type": "ADDED", "object": secret}).encode() + b"\n")
    found: list[Any] = [
        codec.decode(json.dumps(secret).encode()),
        *codec.pages.decode(json.dumps(page).encode()).items,
        *(event.object for event in decoded.events),
    ]
    assert len(found) == 3
    for obj in found:
        assert obj.metadata.annotations == (annotations if keeps else {"mine": "1"})


def test_an_untyped_object_keeps_its_bytes() -> None:
    """An object of a kind without a type is encoded as it came, unknown fields included."""
    codec = codec_of(Unstructured.of_resource(WIDGETS))
    body = json.dumps(widget(spec={"size": 3})).encode()
    obj = codec.decode(body)
    assert (obj.metadata.name, obj.content()["spec"]) == ("w", {"size": 3})
    assert codec.encode(obj) == body


def test_a_name_that_leads_elsewhere_is_not_sent(rig: Rig) -> None:
    """In no verb; the error is one of the client, which a reconcile expects."""
    calls: list[Any] = [
        rig.foos.get,
        rig.foos.delete,
        lambda name, **where: rig.foos.patch(name, {}, **where),
    ]
    for call in calls:
        for where in ({"name": "..", "namespace": "ns"}, {"name": "x", "namespace": "a/b"}):
            with pytest.raises(InvalidName, match="it may not"):
                call(**where)
    with pytest.raises(InvalidName):
        rig.foos.update(evolve(FOO, "metadata.name", ".."))
    with pytest.raises(InvalidName):
        rig.foos.list("..")
    assert rig.transport.sent == []


def test_a_subresource_of_another_kind_is_what_the_server_answers() -> None:
    """The write was done: an error would have it done again."""
    scale = b'{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"},"spec":{"replicas":3}}'
    rig = Rig(answer(200, scale), answer(200, scale), answer(200, BODY))
    change = {"spec": {"replicas": 3}}
    patched = rig.foos.patch("web", change, namespace="ns", subresource="scale")
    read = rig.foos.get("web", namespace="ns", subresource="scale")
    for found in (patched, read):
        assert isinstance(found, Unstructured)
        assert (found.resource.kind, found.content()["spec"]) == ("Scale", {"replicas": 3})
    assert isinstance(rig.foos.get("web", namespace="ns", subresource="log-of-its-own"), Foo)


@pytest.mark.parametrize("name", ["web", "system:web", "status", "scale", "foos", "ä b"])
def test_a_call_tells_its_object_from_a_subresource(name: str) -> None:
    """An encoded name is no subresource, and an object named like a subresource has that one too."""
    rig = Rig(*[answer(200, BODY)] * 3)
    calls: list[Call] = []
    foos = rig.client.telling(lambda call, _: calls.append(call)).resource(Foo)
    for subresource in ("", "status", "scale"):
        foos.patch(name, {}, namespace="ns", subresource=subresource)
    assert [call.subresource for call in calls] == ["", "status", "scale"]


def test_the_metadata_of_an_object_with_an_encoded_name() -> None:
    """As of any other: the kind on the wire is not the kind that was asked for."""
    partial = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"system:a"}}'
    found = (
        Rig(answer(200, partial)).client.resource(PartialObjectMetadata[Foo]).get("system:a", namespace="ns")
    )
    assert (type(found).__name__, found.metadata.name) == ("PartialObjectMetadata[Foo]", "system:a")
