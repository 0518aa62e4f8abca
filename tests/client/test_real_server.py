"""
The client against a real API server: an object's life, watches, rights, and the ways to log in.

What a real server answers to every other request is in sandbox/tests/contract, and what the client makes of
such answers in test_resource_client.py and errors/test_errors.py.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
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
    DecodeError,
    Forbidden,
    NotFound,
    StreamClosed,
    TLSError,
    TooManyRequests,
    Unauthorized,
)
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.testing.eventually import eventually
from support.checks.threads import Background
from support.servers.turns import real_kubeconfig

pytestmark = pytest.mark.real

GROUP = "client.handloop.test"
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


class Widget(Kind, group=GROUP, version="v1"):
    """A kind of this test's own."""

    spec: WidgetSpec = WidgetSpec()


def widget_definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def untyped(resource: Resource, body: object) -> Unstructured:
    """An object of a kind without a type."""
    return Unstructured.of_resource(resource).from_json(msgspec.json.encode(body))


@pytest.fixture(scope="module")
def config() -> ClientConfig:
    return load_config(kubeconfig=str(real_kubeconfig()))


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
        definitions.create(untyped(CRDS, widget_definition()))
    eventually(lambda: client.discovery().resources(GROUP, "v1") is not None, "served")
    eventually(lambda: can_be_listed(client, name), "listed")
    yield name
    namespaces.delete(name)


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


def test_close_ends_a_watch(maps: ResourceClient[ConfigMap], namespace: str) -> None:
    """A reader of a silent watch over TLS ends at once when it is closed."""
    options = ListOptions(field_selector="metadata.name=nobody")
    stream = maps.watch(namespace, options=options)
    reader = Background(stream.read)
    stream.close()
    with pytest.raises(StreamClosed):
        reader.result()


def test_an_object_that_does_not_fit_is_quarantined(
    client: Client, widgets: ResourceClient[Widget], namespace: str
) -> None:
    """Objects the server accepts and our view does not are named; the others arrive."""
    page = widgets.list(namespace)
    widgets.create(Widget(metadata=ObjectMeta(name="fits", namespace=namespace), spec=WidgetSpec(size=1)))
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
