"""Caches of metadata alone, on either server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.apis.partial_metadata import PartialObjectMetadata
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.selection import MetadataOnly
from handloop.kinds.core_v1 import Secret
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.example_cluster import ExampleCluster, example_cluster
from support.rigs.greeter import Greeting
from support.rigs.managed_sandbox import ManagedSandbox
from support.servers.cluster import EITHER


@pytest.fixture(params=EITHER)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleCluster]:
    """Either server."""
    with example_cluster(request.param, tmp_path, Greeting) as made:
        yield made


class Keeper:
    """Gives each Greeting a Secret, of which its cache has the metadata."""

    def __init__(self, manager: Manager) -> None:
        self.contexts: list[Context] = []
        builder = controller_for(manager, "keeper").for_(Greeting).owns(Secret, only="metadata")
        builder.writes(Secret, "create", "patch").complete(self.reconcile)

    def reconcile(self, greeting: Greeting, context: Context) -> None:
        metadata = ObjectMeta(name=greeting.metadata.name, namespace=greeting.metadata.namespace)
        context.apply(Secret(metadata=metadata, data=FrozenMap({"to": "YQ=="})), owner=greeting)
        self.contexts.append(context)


def test_a_child_is_kept_as_wanted_though_the_cache_has_its_metadata_alone(cluster: ExampleCluster) -> None:
    """Its end and its changes wake the owner; the apply reads the server, and writes once."""
    keepers: list[Keeper] = []
    with (
        captured_logs() as logs,
        cluster.operator(lambda manager: keepers.append(Keeper(manager))) as controller,
    ):
        cluster.create(Greeting.named("a"))
        cluster.eventually(lambda: cluster.get(Secret, "a"), "made")
        cluster.patch(Secret, "a", data={"to": "Yg=="})
        cluster.eventually(lambda: data(cluster) == {"to": "YQ=="}, "put back")
        cluster.delete(Secret, "a")
        cluster.eventually(lambda: data(cluster) == {"to": "YQ=="}, "made again")
        cluster.assert_quiet(controller, Secret)
        context = keepers[0].contexts[-1]
        (held,) = context.lister_for(PartialObjectMetadata[Secret]).list()
        assert (held.metadata.name, held.resource) == ("a", Secret.resource._replace(short_names=()))
        with pytest.raises(MetadataOnly, match=r"lister_for\(PartialObjectMetadata\[Secret\]\)"):
            context.lister_for(Secret)
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []


def data(cluster: ExampleCluster) -> dict[str, str]:
    """What the Secret holds."""
    secret = cluster.get(Secret, "a")
    return {} if secret is None else dict(secret.data)


def test_pruning_sees_all_caches_of_the_kind() -> None:
    """Metadata is enough for it, beside a selection that holds one whole object."""
    cluster = ManagedSandbox(Greeting)
    manager = cluster.manager()
    pruned: list[str] = []

    def reconcile(greeting: Greeting, context: Context) -> None:
        spare = Secret.named("spare", namespace="default")
        if context.causes == ("Greeting default/a listed",):
            context.apply(spare, owner=greeting)
        pruned.extend(each.metadata.name for each in context.prune(Secret, keep=(), owner=greeting))

    builder = controller_for(manager, "keeper").for_(Greeting).owns(Secret, only="metadata")
    builder = builder.watches(Secret, lambda _secret: (), fields="metadata.name=settings")
    builder.writes(Secret, "create", "patch", "delete").complete(reconcile)
    cluster.client.resource(Greeting).create(Greeting.named("a", namespace="default"))
    with cluster.running(manager):
        eventually(lambda: pruned == ["spare"], "pruned")


def test_whole_objects_and_metadata_are_two_caches() -> None:
    """With names of their own, in logs and metrics."""
    manager = ManagedSandbox().manager()
    manager.informer_for(Secret)
    manager.informer_for(PartialObjectMetadata[Secret], labels="app=web")
    names = [informer.name for informer in manager.informers()]
    assert names == ["secrets", "secrets[metadata][app=web]"]


def test_another_part_than_metadata_is_refused() -> None:
    """Where the builder is called."""
    part: Any = "spec"
    with pytest.raises(ValueError, match="only is"):
        controller_for(ManagedSandbox().manager(), "keeper").owns(Secret, only=part)
