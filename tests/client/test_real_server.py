"""The client against a real API server: every verb, every refusal that a controller meets."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, ObjectMeta
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.access_review import Permission, check_access, who_am_i
from handloop.client.auth.credentials import StaticCredentials
from handloop.client.auth.tls import TLSOptions
from handloop.client.config import ClientConfig, load_config
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import Bookmark, EventType, WatchStream
from handloop.client.errors import (
    AlreadyExists,
    APIError,
    BadRequest,
    Conflict,
    DecodeError,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NoKindMatch,
    NotFound,
    ServerTimeout,
    StreamClosed,
    TLSError,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
    is_expired,
    is_too_large_resource_version,
)
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, PatchType, ResourceClient
from handloop.client.transport import HTTPTransport
from support.checks.threads import Background

pytestmark = pytest.mark.real

GROUP = "client.handloop.test"
DEADLINE_SECONDS = 20.0
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


class ConfigMap(Kind, group="", version="v1", partial=False):
    """A built-in kind without a status."""

    data: FrozenMap = EMPTY_MAP


class WidgetSpec(APIStruct):
    """What our view of a Widget holds; the server's schema is laxer."""

    size: int = 0


class WidgetStatus(APIStruct):
    """The reported metrics."""

    seen: int = 0


class Widget(Kind, group=GROUP, version="v1"):
    """A kind of this test's own, with a status subresource."""

    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


def widget_definition() -> bytes:
    lax = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    named = {"type": "object", "properties": {"color": {"type": "string", "enum": ["red", "blue"]}}}
    spec = named | {"x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": lax}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return msgspec.json.encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
        }
    )


def untyped(resource: Resource, body: object) -> Unstructured:
    """An object of a kind without a type."""
    return Unstructured.of_resource(resource).from_json(msgspec.json.encode(body))


@pytest.fixture(scope="module")
def config() -> ClientConfig:
    path = os.environ.get("TEST_KUBECONFIG")
    if not path:
        pytest.skip("TEST_KUBECONFIG names no server")
    return load_config(kubeconfig=path)


@pytest.fixture(scope="module")
def client(config: ClientConfig) -> Iterator[Client]:
    transport = HTTPTransport(config)
    yield Client(transport)
    transport.close()


@pytest.fixture(scope="module")
def namespace(client: Client) -> Iterator[str]:
    name = f"client-{secrets.token_hex(4)}"
    namespaces, definitions = client.for_resource(NAMESPACES), client.for_resource(CRDS)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    namespaces.create(untyped(NAMESPACES, body))
    # another run of these tests may be under way, or was killed
    with suppress(AlreadyExists):
        definitions.create(Unstructured.of_resource(CRDS).from_json(widget_definition()))
    until(lambda: client.discovery().resources(GROUP, "v1") is not None)
    until(lambda: can_be_listed(client, name))
    yield name
    namespaces.delete(name)


def until(predicate: Callable[[], bool]) -> None:
    """Ask until it is true; the server has nothing to wait on."""
    pause = threading.Event()
    for _ in range(int(DEADLINE_SECONDS / 0.1)):
        if predicate():
            return
        pause.wait(0.1)
    pytest.fail("did not become true in time")


def can_be_listed(client: Client, namespace: str) -> bool:
    """Whether Widgets can; like watches, lists of a new kind are refused until its cache is filled."""
    try:
        client.resource(Widget).list(namespace)
    except (NotFound, TooManyRequests):
        return False
    return True


@pytest.fixture
def maps(client: Client) -> ResourceClient[ConfigMap]:
    return client.resource(ConfigMap)


@pytest.fixture
def widgets(client: Client) -> ResourceClient[Widget]:
    return client.resource(Widget)


def config_map(name: str, namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=FrozenMap(data))


def make_widget(name: str, namespace: str, size: int = 1) -> Widget:
    return Widget(metadata=ObjectMeta(name=name, namespace=namespace), spec=WidgetSpec(size=size))


def test_create_get_update_delete(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """An object can be made, read, replaced and removed, and each answer is the stored object."""
    created = maps.create(config_map("crud", namespace, a="1"), field_manager="tests")
    assert created.metadata.uid
    assert maps.get("crud", namespace=namespace) == created
    changed = msgspec.structs.replace(created, data=FrozenMap({"a": "2"}))
    updated = maps.update(changed)
    assert updated.data == {"a": "2"}
    assert updated.metadata.resource_version != created.metadata.resource_version
    maps.delete("crud", namespace=namespace)
    with pytest.raises(NotFound, match=rf'get configmaps {namespace}/crud: configmaps "crud" not found'):
        maps.get("crud", namespace=namespace)


def test_create_twice(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """A name that is taken is AlreadyExists."""
    maps.create(config_map("twice", namespace))
    with pytest.raises(AlreadyExists):
        maps.create(config_map("twice", namespace))


def test_a_stale_update_is_a_conflict(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """The resource version guards against overwriting another client's write."""
    created = maps.create(config_map("stale", namespace, a="1"))
    maps.update(msgspec.structs.replace(created, data=FrozenMap({"a": "2"})))
    with pytest.raises(Conflict, match="the object has been modified") as caught:
        maps.update(created)
    assert caught.value.status.details.name == "stale"


def test_an_invalid_object(widgets: ResourceClient[Widget], namespace: str) -> None:
    """422 names the field in its causes."""
    widgets.create(make_widget("colored", namespace))
    with pytest.raises(Invalid) as caught:
        widgets.patch("colored", {"spec": {"color": "green"}}, namespace=namespace)
    (cause,) = caught.value.status.details.causes
    assert cause.field == "spec.color"


def test_status_is_a_subresource(widgets: ResourceClient[Widget], namespace: str) -> None:
    """An update leaves the status alone, and update_status everything else."""
    created = widgets.create(make_widget("status", namespace, size=1))
    changed = msgspec.structs.replace(created, spec=WidgetSpec(size=2), status=WidgetStatus(seen=7))
    updated = widgets.update(changed)
    assert (updated.spec.size, updated.status.seen) == (2, 0)
    reported = widgets.update_status(
        msgspec.structs.replace(updated, spec=WidgetSpec(size=9), status=WidgetStatus(seen=7))
    )
    assert (reported.spec.size, reported.status.seen) == (2, 7)
    assert reported.metadata.generation == updated.metadata.generation
    patched = widgets.patch("status", {"status": {"seen": 8}}, namespace=namespace, subresource="status")
    assert patched.status.seen == 8


def test_dry_run_changes_nothing(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """Every write can be tried without being stored."""
    maps.create(config_map("not-stored", namespace), dry_run=True)
    with pytest.raises(NotFound):
        maps.get("not-stored", namespace=namespace)
    stored = maps.create(config_map("dry", namespace, a="1"))
    maps.update(msgspec.structs.replace(stored, data=FrozenMap({"a": "2"})), dry_run=True)
    maps.patch("dry", {"data": {"a": "3"}}, namespace=namespace, dry_run=True)
    maps.delete("dry", namespace=namespace, dry_run=True)
    assert maps.get("dry", namespace=namespace) == stored


def test_merge_and_json_patch(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """A merge patch merges and removes; a JSON patch is applied whole, or not at all."""
    maps.create(config_map("patched", namespace, a="1", b="2"))
    merged = maps.patch("patched", {"data": {"a": None, "c": "3"}}, namespace=namespace)
    assert merged.data == {"b": "2", "c": "3"}
    operations = [
        {"op": "test", "path": "/data/b", "value": "2"},
        {"op": "replace", "path": "/data/b", "value": "4"},
    ]
    json_patched = maps.patch("patched", operations, namespace=namespace, patch_type=PatchType.JSON)
    assert json_patched.data == {"b": "4", "c": "3"}
    with pytest.raises(Invalid):
        maps.patch("patched", operations, namespace=namespace, patch_type=PatchType.JSON)
    with pytest.raises(BadRequest):
        maps.patch("patched", b"not json", namespace=namespace)


def test_strategic_merge_is_for_built_in_kinds(
    maps: ResourceClient[ConfigMap], widgets: ResourceClient[Widget], namespace: str
) -> None:
    """A custom resource refuses a strategic merge patch with 415."""
    maps.create(config_map("strategic", namespace, a="1"))
    patch = {"data": {"b": "2"}}
    patched = maps.patch("strategic", patch, namespace=namespace, patch_type=PatchType.STRATEGIC)
    assert patched.data == {"a": "1", "b": "2"}
    widgets.create(make_widget("strategic", namespace))
    with pytest.raises(UnsupportedMediaType):
        widgets.patch("strategic", {}, namespace=namespace, patch_type=PatchType.STRATEGIC)


def test_server_side_apply(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """Apply creates, owns its fields, conflicts over another manager's, and can take them by force."""

    def apply(manager: str, *, force: bool | None = None, **data: str) -> ConfigMap:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
        return maps.patch(
            "applied",
            body,
            namespace=namespace,
            patch_type=PatchType.APPLY,
            field_manager=manager,
            force=force,
        )

    assert apply("one", a="1", b="1").data == {"a": "1", "b": "1"}
    assert apply("two", c="3").data == {"a": "1", "b": "1", "c": "3"}
    with pytest.raises(Conflict) as caught:
        apply("two", a="2")
    assert caught.value.status.details.causes[0].field == ".data.a"
    assert apply("two", force=True, a="2").data == {"a": "2", "b": "1"}


def test_delete_with_preconditions(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """An object that is another one, or has changed, is not deleted."""
    created = maps.create(config_map("guarded", namespace))
    with pytest.raises(Conflict):
        maps.delete("guarded", namespace=namespace, uid="00000000-0000-0000-0000-000000000000")
    maps.patch("guarded", {"data": {"a": "1"}}, namespace=namespace)
    with pytest.raises(Conflict):
        maps.delete("guarded", namespace=namespace, resource_version=created.metadata.resource_version)
    maps.delete("guarded", namespace=namespace, uid=created.metadata.uid, propagation_policy="Background")
    with pytest.raises(NotFound):
        maps.delete("guarded", namespace=namespace)


def test_pages(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """A list in pages gives every object once, at one resource version."""
    for number in range(5):
        labels = FrozenMap({"list": "pages"})
        metadata = ObjectMeta(name=f"page-{number}", namespace=namespace, labels=labels)
        maps.create(ConfigMap(metadata=metadata))
    names: list[str] = []
    versions: set[str] = set()
    remaining: list[int | None] = []
    token = ""
    while True:
        page = maps.list(namespace, options=ListOptions(limit=2, continue_token=token))
        names += [item.metadata.name for item in page.items]
        versions.add(page.resource_version)
        remaining.append(page.remaining_item_count)
        if page.continue_token is None:
            break
        token = page.continue_token
    assert [name for name in names if name.startswith("page-")] == [f"page-{number}" for number in range(5)]
    assert len(names) == len(set(names))
    assert len(versions) == 1
    assert remaining[-1] is None
    assert isinstance(remaining[0], int)
    selected = maps.list(namespace, options=ListOptions(label_selector="list=pages", limit=3))
    assert (len(selected.items), selected.remaining_item_count) == (3, None)
    one = maps.list(namespace, options=ListOptions(field_selector="metadata.name=page-3"))
    assert [item.metadata.name for item in one.items] == ["page-3"]


def test_a_list_of_all_namespaces(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """Without a namespace every namespace is listed."""
    maps.create(config_map("everywhere", namespace))
    found = {item.metadata.namespace for item in maps.list().items}
    assert {namespace, "kube-system"} <= found


def test_a_resource_version_from_the_future(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """The server answers that it has not seen the version, and the client recognises that at once."""
    with pytest.raises(ServerTimeout) as caught:
        maps.list(namespace, options=ListOptions(resource_version="999999999999"))
    assert is_too_large_resource_version(caught.value)
    assert caught.value.retry_after_seconds == 1.0


def read_until(stream: WatchStream[Any], count: int) -> list[tuple[EventType, Any]]:
    """The next events, at least count of them, read in a thread so that a silent server fails the test."""
    found: list[tuple[EventType, Any]] = []

    def read() -> None:
        while len(found) < count:
            found.extend((event.type, event.object) for event in stream.read())

    Background(read).result()
    return found


def test_a_watch(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """Changes after a list are delivered in order, typed, with rising versions."""
    page = maps.list(namespace)
    options = ListOptions(resource_version=page.resource_version, field_selector="metadata.name=watched")
    with closing(maps.watch(namespace, options=options)) as stream:
        created = maps.create(config_map("watched", namespace, a="1"))
        updated = maps.patch("watched", {"data": {"a": "2"}}, namespace=namespace)
        maps.delete("watched", namespace=namespace)
        events = read_until(stream, 3)
    assert [kind for kind, _ in events] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
    assert [obj for _, obj in events[:2]] == [created, updated]
    assert int(events[2][1].metadata.resource_version) > int(updated.metadata.resource_version)


def test_a_streaming_list(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """Asking for initial events gives the objects, then the bookmark that ends them."""
    maps.create(config_map("streamed", namespace))
    options = ListOptions(
        send_initial_events=True, allow_watch_bookmarks=True, resource_version_match="NotOlderThan"
    )
    with closing(maps.watch(namespace, options=options)) as stream:
        events: list[tuple[EventType, Any]] = []
        while not (events and events[-1][0] is EventType.BOOKMARK):
            events += read_until(stream, 1)
    assert "streamed" in {obj.metadata.name for kind, obj in events if kind is EventType.ADDED}
    bookmark = events[-1][1]
    assert isinstance(bookmark, Bookmark)
    assert bookmark.ends_initial_events


def test_a_watch_ends_when_it_was_asked_to(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """A time limit makes the server end the stream cleanly."""
    options = ListOptions(
        resource_version=maps.list(namespace).resource_version,
        timeout_seconds=1,
        field_selector="metadata.name=nobody",
    )
    with closing(maps.watch(namespace, options=options)) as stream:
        assert Background(stream.read).result() == []


def test_close_ends_a_watch(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """A reader of a silent watch over TLS ends at once when it is closed."""
    options = ListOptions(field_selector="metadata.name=nobody")
    stream = maps.watch(namespace, options=options)
    reader = Background(stream.read)
    stream.close()
    with pytest.raises(StreamClosed):
        reader.result()


def test_410_of_a_watch_from_the_beginning(widgets: ResourceClient[Widget], namespace: str) -> None:
    """
    A version that is no longer kept is Expired, as a status or as an event.

    A server that has just been made may have kept everything of the kinds it began with, not of this one.
    """
    try:
        with closing(widgets.watch(namespace, options=ListOptions(resource_version="1"))) as stream:
            ((kind, error),) = read_until(stream, 1)[:1]
            assert kind is EventType.ERROR
    except APIError as refused:
        error = refused
    assert isinstance(error, Expired)
    assert is_expired(error)


def test_an_object_that_does_not_fit_is_quarantined(
    client: Client, widgets: ResourceClient[Widget], namespace: str
) -> None:
    """Objects the server accepts and our view does not are named; the others arrive."""
    page = widgets.list(namespace)
    widgets.create(make_widget("fits", namespace))
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "odd"},
        "spec": {"size": "big"},
    }
    client.for_resource(Widget.resource).create(untyped(Widget.resource, body), namespace=namespace)
    with pytest.raises(DecodeError, match=r"\$\.spec\.size"):
        widgets.get("odd", namespace=namespace)
    listed = widgets.list(namespace)
    assert "fits" in {item.metadata.name for item in listed.items}
    assert [(entry.key_namespace, entry.key_name) for entry in listed.undecodable] == [(namespace, "odd")]
    options = ListOptions(resource_version=page.resource_version)
    with closing(widgets.watch(namespace, options=options)) as stream:
        events = read_until(stream, 2)
    odd = [obj for _, obj in events if isinstance(obj, Undecodable)]
    assert [entry.key_name for entry in odd] == ["odd"]
    widgets.delete("odd", namespace=namespace)


def test_untyped_objects(client: Client, namespace: str) -> None:
    """A kind without a type keeps every field through a round trip."""
    maps = client.for_resource(ConfigMap.resource)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw", "namespace": namespace}}
    created = maps.create(
        Unstructured.of_resource(ConfigMap.resource).from_json(
            msgspec.json.encode(body | {"immutable": True})
        )
    )
    assert created.content()["immutable"] is True
    listed = {item.metadata.name: item for item in maps.list(namespace).items}
    assert listed["raw"].content()["immutable"] is True


def test_what_the_server_does_not_do(client: Client, namespace: str) -> None:
    """405 and 404 for verbs and resources that are not there."""
    reviews = client.for_resource(
        Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "X", namespaced=False)
    )
    with pytest.raises((MethodNotAllowed, NoKindMatch)):
        reviews.list()
    nothing = client.for_resource(Resource(GROUP, "v9", "widgets", "Widget"))
    with pytest.raises(NoKindMatch):
        nothing.list(namespace)


def test_version_and_discovery(client: Client, namespace: str) -> None:
    """What the server is and serves, with verbs and subresources."""
    assert client.version().git_version.startswith("v1.")
    assert client.get_raw("/readyz") == b"ok"
    discovery = client.discovery()
    resources = discovery.resources(GROUP, "v1")
    assert resources is not None
    assert resources.subresources("widgets") == {"status"}
    served = resources.find("widgets")
    assert served is not None
    assert {"get", "list", "watch", "update", "patch"} <= set(served.verbs)
    assert discovery.versions(GROUP) == ("v1",)
    assert discovery.versions("nothing.handloop.test") == ()
    assert discovery.resources(GROUP, "v9") is None


def user_config(config: ClientConfig, name: str) -> ClientConfig:
    path = Path(os.environ["TEST_KUBECONFIG"]).with_name(f"kubeconfig.{name}")
    if not path.exists():
        pytest.skip(f"there is no {path.name} beside TEST_KUBECONFIG")
    return load_config(kubeconfig=str(path))


def test_who_may_what(config: ClientConfig, client: Client, namespace: str) -> None:
    """E09: access reviews distinguish an administrator from a user without rights, and name them."""
    assert check_access(client, Permission("create", Widget.resource, namespace)).allowed
    transport = HTTPTransport(user_config(config, "alice"))
    alice = Client(transport)
    assert not check_access(alice, Permission("create", Widget.resource, namespace)).allowed
    identity = who_am_i(alice)
    assert identity is not None
    assert identity.username == "alice"
    with pytest.raises(Forbidden, match=r'User "alice" cannot list resource "widgets"'):
        alice.resource(Widget).list(namespace)
    with pytest.raises(Forbidden):
        alice.resource(Widget).watch()
    transport.close()


def test_a_bearer_token(config: ClientConfig) -> None:
    """A token opens the door that a client certificate opens."""
    transport = HTTPTransport(user_config(config, "token"))
    assert Client(transport).get_raw("/api")
    transport.close()


def test_a_wrong_token(config: ClientConfig) -> None:
    """E06: 401 is Unauthorized."""
    anonymous = replace(config, tls=config.tls._replace(key_pair=TLSOptions().key_pair))
    transport = HTTPTransport(replace(anonymous, credentials=StaticCredentials("Bearer wrong")))
    with pytest.raises(Unauthorized):
        Client(transport).get_raw("/api")
    transport.close()


def test_an_exec_plugin_s_token(config: ClientConfig, tmp_path: Path) -> None:
    """E06: a kubeconfig whose user is a program works like one with its token."""
    token_config = yaml.safe_load(
        Path(os.environ["TEST_KUBECONFIG"]).with_name("kubeconfig.token").read_text(encoding="utf-8")
    )
    (user,) = token_config["users"]
    version = "client.authentication.k8s.io/v1"
    status = {"token": user["user"].pop("token")}
    credential = json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})
    user["user"]["exec"] = {"command": "echo", "args": [credential], "apiVersion": version}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(token_config))
    transport = HTTPTransport(load_config(kubeconfig=str(path)))
    assert Client(transport).get_raw("/api")
    transport.close()


def test_a_server_that_is_not_trusted(config: ClientConfig) -> None:
    """With another trust store the error names who signed the certificate."""
    transport = HTTPTransport(replace(config, tls=TLSOptions()))
    with pytest.raises(TLSError, match="not trusted") as caught:
        Client(transport).get_raw("/api")
    assert caught.value.issuer
    assert "127.0.0.1" in caught.value.names
