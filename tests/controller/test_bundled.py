"""The controllers of this program, what they need of a cluster, and what the caches leave out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from handloop.apis.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentSpec,
    DeploymentStatus,
    LabelSelector,
)
from handloop.apis.core_v1 import Container, PodSpec, PodTemplateSpec, Service
from handloop.apis.meta import (
    EMPTY_MAP,
    FrozenMap,
    Kind,
    ObjectMeta,
    OwnerReference,
    decode_hook_of_views,
)
from handloop.client.decoding.abridged import AbridgedDecoder
from handloop.client.resource_client import Client
from handloop.controller.bundled import ABRIDGED
from handloop.controller.cli.declarations import declared_access, declared_kinds
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.program import NAMES, PROGRAM
from handloop.controller.runtime.manager import Manager
from support.builders.options import new_options
from support.doubles.scripted_transport import ScriptedTransport

ROOT = Path(__file__).parents[2]


def test_each_name_has_a_controller() -> None:
    """The names that `--controllers` takes are described, in their order, and each can be added."""
    assert tuple(setup.name for setup in PROGRAM.setups()) == PROGRAM.names == NAMES
    manager = Manager(Client(ScriptedTransport()))
    PROGRAM.set_up(manager, NAMES)
    assert tuple(manager.runnables()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_sample_of_its_kind(name: str) -> None:
    """The files that E15 names exist, and have its kind."""
    (setup,) = PROGRAM.chosen((name,))
    (kind,) = setup.kinds
    documents = yaml.safe_load_all((ROOT / setup.sample).read_text(encoding="utf-8"))
    assert kind.resource.kind in [document["kind"] for document in documents]


def test_by_default_it_is_everything_every_controller_needs() -> None:
    """Each verb that some controller declares is in it."""
    wanted = {(entry.rule_resource, verb) for entry in declared_access(new_options()) for verb in entry.verbs}
    assert {(entry.rule_resource, verb) for entry in FOO_ACCESS for verb in entry.verbs} <= wanted
    assert declared_kinds(new_options()) == (Foo, MyApp)


def test_nothing_is_declared_twice() -> None:
    """What two controllers share is one rule."""
    entries = [(entry.resource, entry.subresource, entry.purpose) for entry in declared_access(new_options())]
    assert len(entries) == len(set(entries))


_METADATA = ObjectMeta(
    name="a",
    namespace="default",
    uid="u",
    resource_version="7",
    generation=3,
    deletion_timestamp="2026-01-01T00:00:00Z",
    labels=FrozenMap({"app": "a"}),
    annotations=FrozenMap({"note": "x"}),
)


def _deployment(*owners: OwnerReference) -> Deployment:
    return Deployment(
        metadata=replace(_METADATA, owner_references=owners),
        spec=DeploymentSpec(
            replicas=3,
            selector=LabelSelector(match_labels=FrozenMap({"app": "a"})),
            template=PodTemplateSpec(spec=PodSpec(containers=(Container(name="c", image="i"),))),
        ),
        status=DeploymentStatus(
            observed_generation=3,
            replicas=3,
            available_replicas=2,
            conditions=(DeploymentCondition(type="Available", status="True"),),
        ),
    )


def _owned_by(kind: type[Kind], *, controller: bool = True, api_version: str = "") -> OwnerReference:
    resource = kind.resource
    return OwnerReference(
        api_version=api_version or resource.api_version,
        kind=resource.kind,
        name="a",
        uid="o",
        controller=controller,
    )


def _read(deployment: Deployment) -> Deployment:
    """As a cache of the program reads it."""
    decoder = AbridgedDecoder(ABRIDGED[0], decode_hook_of_views)
    return decoder.item(msgspec.json.encode(deployment))


@pytest.mark.parametrize(
    "owners",
    [
        (),
        (_owned_by(Foo),),
        (_owned_by(MyApp, controller=False),),
        (_owned_by(MyApp, api_version="apps.example.org/v1"),),
    ],
    ids=["nobody", "a Foo", "a MyApp that does not control it", "another kind of this name"],
)
def test_other_deployments_are_kept_in_brief(owners: tuple[OwnerReference, ...]) -> None:
    """Whose they are, how many replicas they want and have."""
    kept = Deployment(
        metadata=replace(_METADATA, annotations=EMPTY_MAP, owner_references=owners),
        spec=DeploymentSpec(replicas=3),
        status=DeploymentStatus(observed_generation=3, replicas=3, available_replicas=2),
    )
    assert msgspec.to_builtins(_read(_deployment(*owners))) == msgspec.to_builtins(kept)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_deployment_of_a_myapp_is_kept_whole(version: str) -> None:
    """Its controller compares the template, and reports the conditions; it goes by UID, not by version."""
    deployment = _deployment(_owned_by(MyApp, api_version=f"{MyApp.resource.group}/{version}"))
    assert _read(deployment) == deployment


def test_other_kinds_are_kept_whole() -> None:
    """Foos, MyApps and Services, annotations and all."""
    options = PROGRAM.informer_options()
    assert options.abridged_of(Deployment) is ABRIDGED[0]
    assert all(options.abridged_of(kind) is None for kind in (Foo, MyApp, Service))
