"""Who an object goes with, and who controls it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind, ObjectMeta, controller_of, is_controlled_by, new_controller_ref
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.runtime.children.owner_references import (
    AlreadyOwnedError,
    OwnerError,
    with_controller,
    with_owner,
    without_owner,
)
from support.builders.deployments import deployment


class Zone(Kind, group="example.org", version="v1", scope="Cluster"):
    """A kind of the whole cluster."""


def foo(name: str, *, uid: str = "", namespace: str = "default") -> Foo:
    """A Foo as it is read."""
    metadata = ObjectMeta(name=name, namespace=namespace, uid=uid or f"uid-of-{name}")
    return Foo(metadata=metadata, spec=FooSpec(deployment_name=name))


class Region(Kind, group="example.org", version="v1", scope="Cluster"):
    """Another kind of the same group."""


class ForeignZone(Kind, group="example.net", version="v1", kind="Zone", scope="Cluster"):
    """A kind of the same name in another group."""


A, B = foo("a"), foo("b")
CHILD = deployment("child")


def owners(obj: Deployment) -> list[tuple[str, bool]]:
    """The owners, and whether they control it."""
    return [(each.name, each.controller) for each in obj.metadata.owner_references]


def uids(obj: Deployment) -> list[str]:
    """The owners by UID, in their order."""
    return [each.uid for each in obj.metadata.owner_references]


def test_a_controller_is_set_once() -> None:
    """By UID; without a change it is the same object."""
    child = with_controller(CHILD, A)
    assert is_controlled_by(child, A)
    assert child.metadata.owner_references == (new_controller_ref(A),)
    assert with_controller(child, A) is child
    assert CHILD.metadata.owner_references == ()


def test_a_held_lease_is_not_taken() -> None:
    """There is one controller at most; the error names it."""
    child = with_controller(CHILD, A)
    with pytest.raises(AlreadyOwnedError, match=r"default/child is already controlled by Foo a$") as caught:
        with_controller(child, B)
    assert caught.value.owner.uid == A.metadata.uid


def test_a_controller_of_the_same_name_is_distinguished_by_its_uid() -> None:
    """The child goes with its earlier owner; the error explains it, since the names alone are the same."""
    with pytest.raises(AlreadyOwnedError) as caught:
        with_controller(with_controller(CHILD, A), foo("a", uid="u2"))
    assert str(caught.value) == (
        "Deployment default/child is already controlled by another Foo a (UID uid-of-a, not u2): if that "
        "one is gone, the garbage collector deletes the Deployment, and a later retry succeeds"
    )


def test_the_reference_to_an_earlier_owner_gives_way() -> None:
    """A recreated owner takes the place of its predecessor, whether it is to control the child or not."""
    child = with_owner(with_owner(CHILD, A), B)
    recreated = foo("a", uid="another")
    assert uids(with_owner(child, recreated)) == ["another", "uid-of-b"]
    assert uids(with_controller(child, recreated)) == ["another", "uid-of-b"]


def test_an_owner_of_another_group_or_kind_does_not_give_way() -> None:
    """Objects of one name that are not of one kind are two owners."""
    zone, region = (
        Zone(metadata=ObjectMeta(name="a", uid="z")),
        Region(metadata=ObjectMeta(name="a", uid="r")),
    )
    foreign = ForeignZone(metadata=ObjectMeta(name="a", uid="f"))
    child = with_owner(with_owner(with_owner(with_owner(CHILD, A), zone), region), foreign)
    assert uids(child) == ["uid-of-a", "z", "r", "f"]


def test_a_controller_does_not_give_way_to_an_owner_of_its_name() -> None:
    """Who controls an object is never changed by the way: the earlier owner stays beside."""
    child = with_owner(with_controller(CHILD, A), foo("a", uid="another"))
    assert owners(child) == [("a", True), ("a", False)]


def test_the_version_of_an_owner_is_kept_up_to_date() -> None:
    """Under a version that the server serves no more the garbage collector would not find the owner."""
    for old in (with_owner(CHILD, A), with_controller(CHILD, A)):
        [reference] = old.metadata.owner_references
        outdated = replace(reference, api_version="samplecontroller.k8s.io/v1alpha0")
        before = replace(CHILD, metadata=replace(CHILD.metadata, owner_references=(outdated,)))
        assert with_owner(before, A).metadata.owner_references == (reference,)


def test_further_owners_control_nothing() -> None:
    """They are added, each once, and block no deletion of the owner; one of them may come to control it."""
    child = with_owner(with_controller(CHILD, A), B)
    assert owners(child) == [("a", True), ("b", False)]
    assert [each.block_owner_deletion for each in child.metadata.owner_references] == [True, False]
    assert with_owner(child, A) is with_owner(child, B) is child
    assert owners(with_controller(with_owner(CHILD, B), B)) == [("b", True)]


def test_an_owner_is_taken_off_by_uid() -> None:
    """The others stay; who does not own it leaves it as it is."""
    child = with_owner(with_controller(CHILD, A), B)
    assert owners(without_owner(child, A)) == [("b", False)]
    assert controller_of(without_owner(child, A)) is None
    assert without_owner(child, foo("a", uid="another")) is child


@pytest.mark.parametrize("owner", ["parent", ("default", "parent")])
def test_an_owner_is_an_object(owner: Any) -> None:
    """A name has no UID, which the reference needs."""
    with pytest.raises(TypeError, match="an owner must be an object"):
        with_controller(CHILD, owner)


def test_owners_that_the_garbage_collector_would_not_find_are_refused() -> None:
    """It would delete the object: of another namespace, of the whole cluster, or never stored at all."""
    for set_owner in (with_controller, with_owner):
        with pytest.raises(
            OwnerError, match="Foo a in namespace other cannot own an object in namespace default"
        ):
            set_owner(CHILD, foo("a", namespace="other"))
        with pytest.raises(OwnerError, match="cannot own a cluster-scoped object"):
            set_owner(Zone(metadata=ObjectMeta(name="z")), A)
        with pytest.raises(
            OwnerError, match="Deployment c has no namespace: set it to that of Foo a, 'default'"
        ):
            set_owner(Deployment(metadata=ObjectMeta(name="c")), A)
        with pytest.raises(OwnerError, match="Foo new has no UID"):
            set_owner(CHILD, Foo(metadata=ObjectMeta(name="new", namespace="default"), spec=A.spec))


def test_a_parent_is_not_owned_by_its_child() -> None:
    """No server refuses the circle, and the garbage collector deletes neither."""
    for set_owner in (with_controller, with_owner):
        child = set_owner(CHILD, A)
        problem = f"Deployment {CHILD.metadata.name} cannot own Foo a, which already owns it"
        message = f"{problem}: pass the parent as owner="
        with pytest.raises(OwnerError, match=message):
            set_owner(A, replace(child, metadata=replace(child.metadata, uid="uc")))


def test_a_cluster_scoped_owner_owns_everywhere() -> None:
    """The garbage collector finds it from any namespace."""
    zone = Zone(metadata=ObjectMeta(name="z", uid="uz"))
    assert owners(with_controller(CHILD, zone)) == [("z", True)]
