from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from handloop_sandbox.clock import SettableClock
from handloop_sandbox.server import Sandbox
from support.builders.sites import site_definition
from support.builders.widgets import CRDS
from support.servers.api_server import APIServer, Endpoint
from support.servers.conversion_webhook import renamed

Object = dict[str, Any]
_GROUP = "web.example.com"
_CONVERSION: Object = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "none", "namespace": "none"}},
    },
}
_OLD = f"/apis/{_GROUP}/v1beta1/namespaces/n/sites"
_NEW = f"/apis/{_GROUP}/v1/namespaces/n/sites"


class _Converter:
    """Renames; seen are the names and uids that it was asked for. first is called before each answer."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.first: Callable[[], object] = lambda: None

    def __call__(self, objects: Sequence[Object], api_version: str) -> Sequence[Object]:
        self.seen += [(obj["metadata"]["name"], obj["metadata"]["uid"]) for obj in objects]
        self.first()
        return renamed(objects, api_version)


class _InProcess:
    """A sandbox that nobody drives, with sites that are stored in v1."""

    def __init__(self, *, stored: str = "v1") -> None:
        self.converter = _Converter()
        self.clock = SettableClock()
        self.sandbox = Sandbox(
            seed=1, clock=self.clock, conversions={f"sites.{_GROUP}": self.converter}, bookmark_seconds=1000
        )
        self.transport = self.sandbox.transport()
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        self.ask("POST", CRDS, site_definition(_GROUP, _CONVERSION, stored=stored))

    def ask(self, method: str, path: str, body: Any = None) -> Object:
        """The decoded answer."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = None if body is None else json.dumps(body).encode()
        answer = self.transport.request(method, path, headers={"Content-Type": kind}, body=content)
        found: Object = json.loads(answer.body)
        return found

    def create(self, name: str, **spec: Any) -> Object:
        """A site of v1beta1."""
        return self.ask("POST", _OLD, _site(name, **spec))

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.set(self.clock.time() + seconds)
        self.sandbox.tick()


def _site(name: str, **spec: Any) -> Object:
    metadata = {"generateName": name} if name.endswith("-") else {"name": name}
    return {"apiVersion": f"{_GROUP}/v1beta1", "kind": "Site", "metadata": metadata, "spec": spec}


def test_work_is_done_again_with_the_same_chance() -> None:
    """An object that has to be converted keeps the name and uid that it was converted with."""
    server = _InProcess()
    made = server.create("a-", host="h")["metadata"]
    assert set(server.converter.seen) == {(made["name"], made["uid"])}
    assert server.ask("GET", f"{_NEW}/{made['name']}")["spec"]["hostname"] == "h"


def test_a_converter_may_use_the_sandbox() -> None:
    """Nothing is locked while it is asked, and what it changes is seen by the next attempt."""
    server = _InProcess()
    server.create("a", host="h")
    server.converter.first = lambda: server.ask("PATCH", f"{_NEW}/a", {"spec": {"other": "o"}})
    assert server.ask("GET", f"{_OLD}/a")["spec"] == {"host": "h", "other": "o", "size": 3}


def test_a_list_asks_once_for_all() -> None:
    """And no more while nothing changes."""
    server = _InProcess(stored="v1beta1")
    for index in range(3):
        server.create(f"a{index}")
    server.converter.seen.clear()
    server.ask("PATCH", f"{CRDS}/sites.{_GROUP}", {"spec": {"names": {"shortNames": ["st"]}}})
    assert sorted(name for name, _ in server.converter.seen) == ["a0", "a1", "a2"]
    assert len(server.ask("GET", _NEW)["items"]) == len(server.ask("GET", _NEW)["items"]) == 3
    assert len(server.converter.seen) == 3


def test_a_watch_waits_for_its_converter() -> None:
    """It says nothing while that fails, and then everything in order."""
    server = _InProcess()
    stream = server.transport.stream("GET", _OLD, query={"watch": "1", "timeoutSeconds": "500"})
    engine = server.sandbox.engine
    (watcher,) = engine._watchers

    def fail() -> None:
        raise ValueError("it is ill")

    server.ask("POST", _NEW, _site("a") | {"apiVersion": f"{_GROUP}/v1"})
    server.converter.first = fail
    for change in ("b", "c"):
        server.ask("PATCH", f"{_NEW}/a", {"spec": {"hostname": change}})
    assert [json.loads(line)["type"] for line in engine.take(watcher)] == ["ADDED"]
    assert engine.take(watcher) == []
    server.converter.first = lambda: None
    assert engine.take(watcher) == []
    server.advance(1.5)
    assert [json.loads(line)["object"]["spec"]["host"] for line in engine.take(watcher)] == ["b", "c"]
    stream.close()


def test_controllers_write_in_the_preferred_version() -> None:
    """Once the converter answers again, what its failure has held up is done."""
    server = _InProcess(stored="v1beta1")
    owner = server.ask("POST", "/api/v1/namespaces/n/configmaps", {"metadata": {"name": "owner"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    for name in ("a", "b"):
        site = _site(name)
        server.ask("POST", _OLD, site | {"metadata": {"name": name, "ownerReferences": [reference]}})

    def fail() -> None:
        raise ValueError("it is ill")

    server.converter.first = fail
    server.ask("DELETE", "/api/v1/namespaces/n/configmaps/owner?propagationPolicy=Orphan")
    for _ in range(3):
        server.advance(1)
    assert server.ask("GET", "/api/v1/namespaces/n/configmaps/owner")["metadata"]["finalizers"] == ["orphan"]
    server.converter.first = lambda: None
    for _ in range(3):
        server.advance(1)
    assert server.ask("GET", "/api/v1/namespaces/n/configmaps/owner")["code"] == 404
    assert ["ownerReferences" in item["metadata"] for item in server.ask("GET", _OLD)["items"]] == [
        False,
        False,
    ]


def test_a_controllers_write_does_not_undo_what_happened_meanwhile() -> None:
    """The object has changed while it was converted: the controller looks again."""
    server = _InProcess(stored="v1beta1")
    owner = server.ask("POST", "/api/v1/namespaces/n/configmaps", {"metadata": {"name": "owner"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    server.ask("POST", _OLD, _site("a") | {"metadata": {"name": "a", "ownerReferences": [reference]}})
    label = iter([{"metadata": {"labels": {"x": "y"}}}])
    server.ask("DELETE", "/api/v1/namespaces/n/configmaps/owner?propagationPolicy=Orphan")
    server.converter.first = lambda: [server.ask("PATCH", f"{_OLD}/a", body) for body in label]
    for _ in range(4):
        server.advance(1)
    left = server.ask("GET", f"{_OLD}/a")["metadata"]
    assert (left["labels"], "ownerReferences" in left) == ({"x": "y"}, False)


@pytest.fixture
def held() -> Iterator[tuple[APIServer, threading.Event, threading.Event, Sandbox]]:
    """A sandbox that listens; its converter sets the first event, and waits for the second one."""
    asked, released = threading.Event(), threading.Event()

    def convert(objects: Sequence[Object], api_version: str) -> Sequence[Object]:
        asked.set()
        released.wait(20)
        return renamed(objects, api_version)

    with (
        Sandbox(seed=1, conversions={f"sites.{_GROUP}": convert}) as sandbox,
        APIServer(Endpoint(sandbox.url, sandbox.token), real=False) as server,
    ):
        server.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
        server.create(CRDS, site_definition(_GROUP, _CONVERSION))
        server.eventually(_NEW, lambda answer: answer.status == 200)
        yield server, asked, released, sandbox
        released.set()


def test_others_are_served_while_a_converter_works(
    held: tuple[APIServer, threading.Event, threading.Event, Sandbox],
) -> None:
    """Nobody waits for the converter but who needs it."""
    server, asked, released, _ = held
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(server.create(_OLD, _site("a", host="h"))))
    waiting.start()
    assert asked.wait(10)
    with server.watch(f"{_NEW}?watch=1") as watch:
        assert server.create(_NEW, _site("b") | {"apiVersion": f"{_GROUP}/v1"}).status == 201
        watch.count(1)
    assert not answers
    released.set()
    waiting.join()
    assert answers[0].body["spec"] == {"host": "h", "size": 3}


def test_a_server_stops_while_a_converter_works(
    held: tuple[APIServer, threading.Event, threading.Event, Sandbox],
) -> None:
    """It does not wait for it."""
    server, asked, released, sandbox = held

    def create() -> None:
        with pytest.raises(OSError):
            server.create(_OLD, _site("a"))

    waiting = threading.Thread(target=create)
    waiting.start()
    assert asked.wait(10)
    sandbox.stop()
    assert not released.is_set()
    waiting.join()
