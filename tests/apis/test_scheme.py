"""Kind <-> type <-> URL."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.apis.resource import GroupVersionKind
from handloop.apis.scheme import SCHEME, Scheme
from handloop.controller.foo.types import Foo


class OtherFoo(Kind, group="samplecontroller.k8s.io", version="v1alpha1", kind="Foo"):
    """A second type for the same kind."""


def test_every_kind_is_found_by_kind_and_by_plural() -> None:
    """Both maps lead to the same type, and back to its place."""
    for kind in SCHEME:
        resource = kind.resource
        assert SCHEME.type_for(resource.gvk) is kind
        assert SCHEME.type_for_plural(resource.group, resource.version, resource.plural) is kind
        assert SCHEME.resource_for(resource.gvk) == resource


def test_unknown_kinds_are_none() -> None:
    """Not knowing a kind is no error."""
    assert SCHEME.type_for(GroupVersionKind("a", "b", "C")) is None
    assert SCHEME.type_for_plural("a", "b", "c") is None
    assert SCHEME.resource_for(GroupVersionKind("a", "b", "C")) is None


def test_a_kind_has_one_type() -> None:
    """Registering a type twice is fine, another type for the same kind is not."""
    scheme = Scheme([Foo, Deployment, Foo])
    with pytest.raises(ValueError, match="is already Foo"):
        scheme.add(OtherFoo)
