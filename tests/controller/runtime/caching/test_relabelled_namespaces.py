"""
Namespaces that are relabelled while their objects change, from a seed.

Whatever comes first: nothing is written into a namespace that the manager has let go, nothing is cleaned up
there, and in the end every object is served.
"""

from __future__ import annotations

import os
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from handloop.apis.resource import namespace_in
from handloop.client.config import load_config
from handloop.client.errors import ClientError
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport, HTTPTransport, Transport
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.caching.namespace_fence import NamespaceFence
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap, Namespace
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.rigs.example_cluster import ExampleCluster, example_cluster
from support.rigs.greeter import Greeting
from support.servers.cluster import EITHER

SEEDS: Final = range(int(os.environ.get("FAULT_SEEDS", "3")))
STEPS: Final = 60
NAMESPACES: Final = 4
WORKERS: Final = 4


class Watchful(ForwardingTransport):
    """Remembers the writes that left for a namespace after the manager had let it go."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.has_left: Callable[[str], bool] = lambda _namespace: False
        self.late: list[str] = []
        self.deleted: list[str] = []
        self._at_fence = threading.local()

    def reaches_fence(self, path: str) -> None:
        """A request of this thread is about to pass the fence, or to be refused there."""
        self._at_fence.left = self.has_left(namespace_in(path))

    def request(self, method: str, path: str, **options: Any) -> Any:
        # Only a namespace that had left before the fence counts: it may leave once a request has passed.
        left = getattr(self._at_fence, "left", True) and self.has_left(namespace_in(path))
        self._at_fence.left = True
        answer = super().request(method, path, **options)
        if method != "GET" and left and answer.status < 400:
            self.late.append(f"{method} {path}")
        if method == "DELETE":
            self.deleted.append(path)
        return answer


@pytest.fixture(params=EITHER)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleCluster]:
    """Either server."""
    with example_cluster(request.param, tmp_path, Greeting) as made:
        yield made


class World:
    """Some namespaces, and a random administrator."""

    def __init__(self, cluster: ExampleCluster, seed: int) -> None:
        self.random = random.Random(seed)
        self.admin = cluster.client
        self.team = f"t{uuid.uuid4().hex[:8]}"
        self.namespaces = [f"{self.team}-{number}" for number in range(NAMESPACES)]
        self.matching: set[str] = set()
        self.greetings: dict[tuple[str, str], str] = {}
        for name in self.namespaces:
            self.admin.resource(Namespace).create(Namespace.named(name))
            self.relabel(name)

    def relabel(self, name: str, *, matching: bool = True) -> None:
        self.admin.resource(Namespace).patch(
            name, {"metadata": {"labels": {"team": self.team if matching else "other"}}}
        )
        (self.matching.add if matching else self.matching.discard)(name)

    def step(self, number: int) -> None:
        namespace = self.random.choice(self.namespaces)
        there = [name for space, name in self.greetings if space == namespace]
        match self.random.choice(("relabel", "greet", "greet", "change", "change", "spoil")):
            case "relabel":
                self.relabel(namespace, matching=namespace not in self.matching)
            case "greet":
                self.admin.resource(Greeting).create(Greeting.named(f"g{number}", namespace=namespace))
                self.greetings[namespace, f"g{number}"] = ""
            case "change" if there:
                name, text = self.random.choice(there), f"s{number}"
                self.admin.resource(Greeting).patch(name, {"spec": {"name": text}}, namespace=namespace)
                self.greetings[namespace, name] = text
            case "spoil" if there:
                try:
                    maps = self.admin.resource(ConfigMap)
                    maps.patch(self.random.choice(there), {"data": {"name": "spoilt"}}, namespace=namespace)
                except ClientError:
                    pass  # not made yet

    def served(self) -> dict[tuple[str, str], str]:
        """What the ConfigMaps of all namespaces greet."""
        found = [each for name in self.namespaces for each in self.admin.resource(ConfigMap).list(name).items]
        return {
            (each.metadata.namespace, each.metadata.name): each.data.get("name", "")
            for each in found
            if each.metadata.name != "kube-root-ca.crt"
        }

    def remove(self) -> None:
        for name in self.namespaces:
            self.admin.resource(Namespace).delete(name)


def reconcile(name: ObjectName, context: Context) -> None:
    """A ConfigMap of its name; without a Greeting it is cleaned up."""
    greeting = context.lister_for(Greeting).get(name)
    if greeting is None:
        context.client.resource(ConfigMap).delete(name.name, namespace=name.namespace)
        return
    context.apply(ConfigMap.named(greeting, data={"name": greeting.spec.name}), owner=greeting)


@pytest.mark.parametrize("seed", SEEDS)
def test_relabelled_under_load(cluster: ExampleCluster, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """See the head of this file."""
    world = World(cluster, seed)
    config = load_config(kubeconfig=str(cluster.kubeconfig))
    stop = threading.Event()
    with closing(HTTPTransport(config)) as transport, captured_logs() as logs:
        watchful = Watchful(transport)
        passes = NamespaceFence._before_request

        def reaches(fence: NamespaceFence, method: str, path: str, send_seconds: float) -> float:
            watchful.reaches_fence(path)
            return passes(fence, method, path, send_seconds)

        monkeypatch.setattr(NamespaceFence, "_before_request", reaches)
        manager = Manager(
            Client(watchful, stop=stop),
            namespaces=f"team={world.team}",
            controller_options=ControllerOptions(max_concurrent_reconciles=WORKERS),
        )
        builder = controller_for(manager, "greeter").for_(Greeting).owns(ConfigMap)
        builder.writes(ConfigMap, "create", "patch", "delete").complete_by_name(reconcile)
        informer = manager.informer_for(Greeting)
        watchful.has_left = informer.has_left
        running = Background(lambda: manager.run(stop))
        try:
            cluster.eventually(lambda: manager.readiness_checks()["informers-synced"]() is None, "at work")
            for number in range(STEPS):
                world.step(number)
            for name in world.namespaces:
                world.relabel(name)
            cluster.eventually(lambda: world.served() == world.greetings, "everything served")
        finally:
            stop.set()
            running.result()
            world.remove()
    assert watchful.late == []
    assert watchful.deleted == []
    assert [line for line in logs if line["log_level"] == "error"] == []
