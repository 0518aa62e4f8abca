"""Metadata, owner references, and that nothing decoded can be changed."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from handloop.apis.apps_v1 import Deployment
from handloop.apis.json_value import JSON
from handloop.apis.meta import (
    APIStruct,
    FrozenMap,
    MapOf,
    ObjectMeta,
    OwnerReference,
    controller_of,
    decode_hook,
    encode_hook,
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


class Share(APIStruct, frozen=True):
    """A value of a map."""

    percent: Annotated[int, Meta(le=100)]


class Shares(MapOf[Share], min_length=1, max_length=2):
    """One or two of them."""


class Maps(APIStruct, frozen=True):
    """Maps whose values are no strings."""

    counts: MapOf[int] = MapOf()
    nested: MapOf[MapOf[Share]] = MapOf()
    shares: Shares | None = None
    free: MapOf[JSON] = MapOf()


decode_maps = msgspec.json.Decoder(Maps, dec_hook=decode_hook).decode


def test_maps_of_other_values() -> None:
    """Their values are decoded by their type, and an encoded value decodes to the same; so does a pickle."""
    body = (
        b'{"counts":{"a":1},"nested":{"b":{"c":{"percent":7}}},"shares":{"d":{"percent":9}},"free":{"e":[]}}'
    )
    maps = decode_maps(body)
    assert maps.nested["b"]["c"] == Share(percent=7)
    assert maps.shares == Shares({"d": Share(percent=9)})
    assert maps.free["e"].value() == []
    assert msgspec.json.encode(maps, enc_hook=encode_hook) == body
    assert pickle.loads(pickle.dumps(maps)) == maps  # noqa: S301 - our own bytes
    assert hash(maps) == hash(decode_maps(body))
    revived = pickle.loads(pickle.dumps(maps.counts))  # noqa: S301 - the same
    assert {type(each) for each in (maps.counts, maps.nested["b"], revived)} == {MapOf}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b'{"counts":{"a":"1"}}', "Expected `int`, got `str` - at `$[...]` - at `$.counts`"),
        (b'{"counts":null}', "Expected `object`, got `null` - at `$.counts`"),
        (b'{"shares":{}}', "Expected `object` of length >= 1 - at `$.shares`"),
        (b'{"shares":{"a":{"percent":101}}}', "Expected `int` <= 100 - at `$[...].percent` - at `$.shares`"),
    ],
)
def test_a_value_of_a_map_that_does_not_fit_is_named(body: bytes, complaint: str) -> None:
    """With the path of the map, and of the value in it."""
    with pytest.raises(msgspec.ValidationError) as error:
        decode_maps(body)
    assert str(error.value) == complaint


def test_maps_that_are_made_are_checked_like_decoded_ones() -> None:
    """msgspec.convert keeps a map that fits, and refuses another."""
    counts = MapOf({"a": 1})
    assert msgspec.convert(counts, MapOf[int], dec_hook=decode_hook) is counts
    labels = FrozenMap({"a": "b"})
    assert msgspec.convert(labels, FrozenMap, dec_hook=decode_hook) is labels
    for wrong in (FrozenMap({"a": "b"}), Shares({})):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, MapOf[int] if wrong else Shares, dec_hook=decode_hook)


def test_other_types_are_not_decoded_by_the_hook() -> None:
    """The hook knows maps and JSON; a new one in a view is a programming error that shows at once."""
    with pytest.raises(NotImplementedError):
        decode_hook(complex, 1)
    with pytest.raises(NotImplementedError):
        encode_hook(1j)


def test_nothing_decoded_can_be_changed() -> None:
    """Structs, lists and maps all refuse: the cache is shared between threads."""
    deployment = decode(DEPLOYMENT)
    with pytest.raises(AttributeError, match=r'Spec is immutable: evolve\(obj, "replicas", value\)'):
        deployment.spec.replicas = 4  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del deployment.spec.replicas
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
    """A sent object carries kind and apiVersion, camelCase, and no empty fields."""
    body = msgspec.json.decode(msgspec.json.encode(Deployment(metadata=ObjectMeta(name="web"))))
    assert body == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web"},
    }


def test_an_owner_without_a_uid_is_refused() -> None:
    """The server would refuse the reference, and only then."""
    with pytest.raises(ValueError, match="Foo a has no UID: use an object that was read from the server"):
        new_controller_ref(Foo(metadata=ObjectMeta(name="a"), spec=FooSpec(deployment_name="a")))
