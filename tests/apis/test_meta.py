"""Metadata, owner references, and that nothing decoded can be changed."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable

import msgspec
import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import (
    FrozenMap,
    ObjectMeta,
    OwnerReference,
    controller_of,
    decode_hook,
    is_controlled_by,
    new_controller_ref,
)
from handloop.controller.foo.types import Foo, FooSpec

decode = msgspec.json.Decoder(Deployment, dec_hook=decode_hook).decode

DEPLOYMENT = b"""{"metadata": {"name": "web", "namespace": "default", "uid": "u1", "labels": {"app": "nginx"},
 "managedFields": [{"manager": "x"}], "ownerReferences": [
   {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"},
   {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true}]},
 "spec": {"replicas": 3, "strategy": {"type": "Recreate"}}, "status": {"availableReplicas": 2}}"""


def test_a_view_takes_what_it_knows_and_skips_the_rest() -> None:
    """Unknown fields are no error; kind and apiVersion may be missing, as in lists of built-in kinds."""
    deployment = decode(DEPLOYMENT)
    assert deployment.metadata.name == "web"
    assert deployment.spec.replicas == 3
    assert deployment.status.available_replicas == 2


@pytest.mark.parametrize(
    "wrong", [b'{"kind": "Status"}', b'{"apiVersion": "apps/v2"}', b'{"spec": {"replicas": "3"}}']
)
def test_an_object_of_another_kind_or_shape_does_not_decode(wrong: bytes) -> None:
    """A wrong kind, version or type is an error, never a half-filled object."""
    with pytest.raises(msgspec.ValidationError):
        decode(wrong)


def test_maps_hold_strings_only() -> None:
    """A label that is a number is an error with its path; null is an empty map."""
    with pytest.raises(msgspec.ValidationError, match=r"expected a map of strings.*metadata.labels"):
        decode(b'{"metadata": {"labels": {"a": 1}}}')
    assert decode(b'{"metadata": {"labels": null}}').metadata.labels == {}


def test_other_types_are_not_decoded_by_the_hook() -> None:
    """The hook knows one type; a new one in a view is a programming error that shows at once."""
    with pytest.raises(NotImplementedError):
        decode_hook(complex, 1)


def test_nothing_decoded_can_be_changed() -> None:
    """Structs, lists and maps all refuse: the cache is shared between threads."""
    deployment = decode(DEPLOYMENT)
    with pytest.raises(AttributeError):
        deployment.spec.replicas = 4  # type: ignore[misc]
    labels = deployment.metadata.labels
    changes: tuple[Callable[[], object], ...] = (
        lambda: labels.__setitem__("a", "b"),
        lambda: labels.update(a="b"),
        lambda: labels.pop("app"),
        lambda: labels.popitem(),  # noqa: PLW0108 - the bound method confuses mypy
        lambda: labels.clear(),  # noqa: PLW0108 - the same
        lambda: labels.setdefault("a", "b"),
        lambda: labels.__delitem__("app"),
        lambda: labels.__ior__({"a": "b"}),
    )
    for change in changes:
        with pytest.raises(TypeError, match="immutable"):
            change()
    assert isinstance(deployment.metadata.owner_references, tuple)


def test_maps_are_values() -> None:
    """Equal maps hash alike; a copy of something immutable is itself; they survive pickling and merging."""
    labels = FrozenMap({"a": "1", "b": "2"})
    assert hash(labels) == hash(FrozenMap({"b": "2", "a": "1"}))
    assert copy.copy(labels) is labels
    assert copy.deepcopy(labels) is labels
    assert pickle.loads(pickle.dumps(labels)) == labels  # noqa: S301 - our own bytes
    assert labels | {"c": "3"} == {"a": "1", "b": "2", "c": "3"}


def test_views_are_not_tracked_by_the_collector() -> None:
    """A full collection does not walk the cache's structs."""
    assert not gc.is_tracked(decode(DEPLOYMENT))


def test_controller_of_is_the_first_controlling_reference() -> None:
    """Owners that do not control are passed over."""
    owner = controller_of(decode(DEPLOYMENT))
    assert owner is not None
    assert owner.name == "b"
    assert controller_of(Foo()) is None


def test_is_controlled_by_compares_uids_not_names() -> None:
    """An owner that was deleted and made again under the same name does not own the old children."""
    foo = Foo(metadata=ObjectMeta(name="foo", uid="new"))
    child = Deployment(metadata=ObjectMeta(owner_references=(new_controller_ref(foo),)))
    assert is_controlled_by(child, foo)
    assert not is_controlled_by(child, Foo(metadata=ObjectMeta(name="foo", uid="old")))
    assert not is_controlled_by(Deployment(), foo)


def test_new_controller_ref_blocks_the_owners_deletion() -> None:
    """Controller and blockOwnerDeletion are both set and both written."""
    reference = new_controller_ref(Foo(metadata=ObjectMeta(name="foo", uid="u")))
    assert reference == OwnerReference(
        api_version="samplecontroller.k8s.io/v1alpha1",
        kind="Foo",
        name="foo",
        uid="u",
        controller=True,
        block_owner_deletion=True,
    )
    assert msgspec.json.decode(msgspec.json.encode(reference))["blockOwnerDeletion"] is True


def test_an_encoded_object_names_its_kind() -> None:
    """What is sent carries kind and apiVersion, camelCase, and no empty fields below the top."""
    body = msgspec.json.decode(msgspec.json.encode(Deployment(metadata=ObjectMeta(name="web"))))
    assert body == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web"},
        "spec": {},
        "status": {},
    }


def test_an_owner_without_a_uid_is_refused() -> None:
    """The server would refuse the reference, and only then."""
    with pytest.raises(ValueError, match="Foo a has no UID: it must have been read from the server"):
        new_controller_ref(Foo(metadata=ObjectMeta(name="a"), spec=FooSpec(deployment_name="a")))
