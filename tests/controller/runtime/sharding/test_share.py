"""A process that does all of the work; test_replica.py has one that shares it."""

from __future__ import annotations

import threading

import pytest

from handloop.client.errors import Cancelled
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.sharding.share import Sole
from handloop.informers.keys import ObjectName
from support.rigs.managed_sandbox import ManagedSandbox

NAME = ObjectName("demo", "a")


def test_nothing_is_divided() -> None:
    """It holds, admits and answers for every name, needs no thread, no access and no label."""
    sandbox, sole = ManagedSandbox(Foo), Sole(lambda: 1.0)
    assert (sole.access(), sole.child_labels(), sole.objects(), sole.statistics()) == ((), {}, {}, None)
    assert (sole.liveness_checks(), sole.readiness_checks()) == ({}, {})
    assert sole.part(sandbox.client, tuple) is None
    assert list(sole.declare([(Foo, False)])) == []
    assert sole.elsewhere(NAME, is_known=False) == ("", "")
    assert sole.watching(sandbox.client, "foo", []) is sandbox.client
    assert sole.mapped("foo", lambda _obj: ()) is not None


def test_it_writes_only_while_nobody_else_can_lead() -> None:
    """The fence of leader election stays where nothing is divided."""
    sandbox, seconds = ManagedSandbox(Foo), [1.0]
    client = Sole(lambda: seconds[0]).fenced(sandbox.client, threading.Event(), patience_seconds=2.0)
    client.resource(Foo).create(Foo.named("a", namespace="default"))
    seconds[0] = 0.0
    with pytest.raises(Cancelled):
        client.resource(Foo).create(Foo.named("b", namespace="default"))
