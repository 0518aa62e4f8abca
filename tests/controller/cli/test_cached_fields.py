"""What is left out of the caches, and what is not."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentSpec,
    DeploymentStatus,
    LabelSelector,
)
from handloop.apis.core_v1 import Container, PodSpec, PodTemplateSpec, Service
from handloop.apis.meta import FrozenMap, Kind, ObjectMeta, OwnerReference
from handloop.controller.cli.cached_fields import cached_fields
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

_LAST_APPLIED = FrozenMap({"kubectl.kubernetes.io/last-applied-configuration": "{}"})
_METADATA = ObjectMeta(
    name="a",
    namespace="default",
    uid="u",
    resource_version="7",
    generation=3,
    deletion_timestamp="2026-01-01T00:00:00Z",
    labels=FrozenMap({"app": "a"}),
    annotations=_LAST_APPLIED,
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
    """Whose they are, how many replicas they want and have; idempotent."""
    kept = cached_fields(_deployment(*owners))
    assert kept == Deployment(
        metadata=replace(_METADATA, annotations=FrozenMap({}), owner_references=owners),
        spec=DeploymentSpec(replicas=3, selector=LabelSelector(match_labels=FrozenMap({"app": "a"}))),
        status=DeploymentStatus(observed_generation=3, replicas=3, available_replicas=2),
    )
    assert cached_fields(kept) is kept


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_deployment_of_a_myapp_is_kept_whole(version: str) -> None:
    """Its controller compares the template, and reports the conditions; it goes by UID, not by version."""
    deployment = _deployment(_owned_by(MyApp, api_version=f"{MyApp.resource.group}/{version}"))
    assert cached_fields(deployment) is deployment


def test_other_kinds_are_kept_whole() -> None:
    """Foos, MyApps and Services, annotations and all."""
    for obj in (Foo(metadata=_METADATA), Service(metadata=_METADATA)):
        assert cached_fields(obj) is obj


def test_what_is_left_out_is_not_in_memory() -> None:
    """Nothing of it stays behind in what is kept."""
    text = msgspec.json.encode(cached_fields(_deployment()))
    assert b"last-applied" not in text
    assert b"containers" not in text
