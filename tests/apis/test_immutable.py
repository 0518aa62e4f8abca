"""Types whose objects cannot be changed, and those whose can."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.coordination_v1 import Lease
from handloop.apis.core_v1 import Event, Service
from handloop.apis.immutable import mutable_parts
from handloop.apis.json_value import JSON
from handloop.apis.meta import APIStruct, FrozenMap, Kind, MapOf


class Leaf(APIStruct):
    """Nothing in it can be changed."""

    name: str
    size: Annotated[int, Meta(ge=0)] | None = None
    mode: Literal["a", "b"] = "a"
    labels: FrozenMap = FrozenMap()
    limits: MapOf[MapOf[int]] = MapOf()
    free: JSON = JSON()


class Tree(APIStruct):
    """Holds more of its own kind."""

    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] = (1, "a")
    words: frozenset[str] = frozenset()
    trees: tuple[Tree, ...] = ()


class Open(msgspec.Struct):
    """Not frozen."""

    name: str = ""


class Holes(APIStruct):
    """One of each that can be changed."""

    tags: list[str] | None = None
    options: dict[str, str] | None = None
    names: set[str] | None = None
    anything: Any = None
    buffer: bytearray | None = None
    opened: Open | None = None
    pairs: tuple[list[int], ...] = ()
    lists: MapOf[list[int]] | None = None
    raw: msgspec.Raw = msgspec.Raw()
    fine: Leaf | None = None


class Outer(APIStruct):
    """Holds it deeper."""

    spec: Holes = Holes()


@pytest.mark.parametrize("kind", [Deployment, Service, HorizontalPodAutoscaler, Event, Lease])
def test_all_our_kinds_are_immutable(kind: type[Kind]) -> None:
    """The cache's objects are immutable, so no search for the writer is needed."""
    assert mutable_parts(kind) == ()


@pytest.mark.parametrize("kind", [Leaf, Tree])
def test_frozen_all_the_way_has_no_mutable_part(kind: type[msgspec.Struct]) -> None:
    """Frozen structs, tuples, frozen sets, maps, JSON and plain values, also in a type that holds itself."""
    assert mutable_parts(kind) == ()


def test_every_way_to_change_an_object_is_named() -> None:
    """Lists, maps, sets, anything, buffers, Raw and structs that are not frozen, wherever they are."""
    assert mutable_parts(Outer) == (
        "spec.tags",
        "spec.options",
        "spec.names",
        "spec.anything",
        "spec.buffer",
        "spec.opened",
        "spec.pairs",
        "spec.lists",
        "spec.raw",
    )
    assert mutable_parts(Open) == ("Open",)
