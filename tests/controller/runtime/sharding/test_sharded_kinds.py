"""What can be sharded: how a kind is by UID, and relations that no replica could follow."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.sharding.sharded_kinds import NamespaceCrossings, ShardedKinds, ShardingError
from handloop.informers.keys import ObjectName
from handloop.informers.sharding.held_slots import HeldSlots
from support.builders.foo_builders import new_foo
from support.checks.captured_logs import captured_logs


def test_the_first_to_need_a_kind_decides() -> None:
    """A kind that somebody reads as a whole stays so; two that need it in two ways are refused."""
    kinds = ShardedKinds(HeldSlots(4))
    kinds.declare(Foo, "uid")
    kinds.declare(Foo, "uid")
    assert (scope := kinds.scope_of(Foo)) is not None
    assert scope.by == "uid"
    with pytest.raises(
        ShardingError, match="Foo cannot be sharded by uid for one controller and differently"
    ):
        kinds.declare(Foo, "label")
    assert kinds.scope_of(Deployment) is None
    kinds.declare(Deployment, "label")
    assert kinds.scope_of(Deployment) is None


def test_a_relation_across_namespaces_is_an_error_once() -> None:
    """Its names count all the same: we may have their slots by chance."""
    names = [ObjectName("default", "near"), ObjectName("elsewhere", "far")]
    names_of = NamespaceCrossings("c", lambda _foo: names)
    with captured_logs() as logs:
        assert [*names_of(new_foo()), *names_of(new_foo())] == names * 2
        assert list(NamespaceCrossings("c", lambda _foo: names[:1])(new_foo())) == names[:1]
    (line,) = logs
    assert line["name"] == ObjectName("elsewhere", "far")


def test_a_key_in_place_of_a_name_is_left_to_who_refuses_it() -> None:
    """The error of the source says what a map function must return."""
    keys: list[Any] = ["default/near"]
    assert list(NamespaceCrossings("c", lambda _foo: keys)(new_foo())) == keys
