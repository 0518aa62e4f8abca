"""Whether the server has an owner still whose children disappear."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.client.errors import ServiceUnavailable
from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.guards.owner_recheck import OwnerGoneError, OwnerRecheck
from handloop.controller.runtime.guards.repeat_backoff import HeldBackError
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import disowned, new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.doubles.fake_api import FakeAPI
from support.rigs.foo_rig import EXAMPLE
from support.rigs.reconcile_rig import FakeMirror

SINCE = "2023-11-14T22:13:20Z"
FOO = new_foo()
CHILD = new_deployment(FOO)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with captured_logs():
        yield


class Owners:
    """A Foo in a cache and on a server."""

    def __init__(self) -> None:
        self.api = FakeAPI()
        self.api.put(FOO)
        self.cache = FakeMirror()
        self.cache.put(FOO)
        self.clock = FakeClock()
        self.ours: list[tuple[ObjectName, Kind]] = []
        self.recheck = OwnerRecheck(
            Foo, Client(self.api), self.cache, deleted_by_us=self.is_ours, clock=self.clock
        )

    def is_ours(self, owner: ObjectName, child: Kind) -> bool:
        return (owner, child) in self.ours

    def lose(self, child: Deployment | DeletedFinalStateUnknown[Deployment] = CHILD) -> None:
        """A child is deleted."""
        self.recheck.child_gone(child)

    def reads(self) -> int:
        """Begin a reconcile; returns how often the server has been asked because of it."""
        before = len(self.api.reads)
        self.recheck.check(EXAMPLE)
        return len(self.api.reads) - before


def test_without_a_loss_no_request_is_made() -> None:
    """Nor for the children of others, for a deletion without a state, and for what we deleted ourselves."""
    owners = Owners()
    owners.ours = [(EXAMPLE, CHILD)]
    for gone in (disowned(CHILD), new_deployment(new_foo(uid="earlier")), CHILD):
        owners.lose(gone)
    owners.lose(DeletedFinalStateUnknown("default/example-foo-deployment", None))
    assert owners.reads() == 0


def test_an_owner_that_is_there_is_asked_for_once() -> None:
    """However many children have gone; an owner that does not control them is one, too."""
    owners = Owners()
    references = tuple(replace(each, controller=False) for each in CHILD.metadata.owner_references)
    owners.lose(replace(CHILD, metadata=replace(CHILD.metadata, owner_references=references)))
    owners.lose(DeletedFinalStateUnknown("default/example-foo-deployment", CHILD))
    assert [owners.reads() for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize("live", [None, new_foo(uid="another"), new_foo(deletion_timestamp=SINCE)])
def test_an_owner_that_is_gone_is_asked_for_until_the_cache_knows(live: Foo | None) -> None:
    """Gone, another one of its name, or on its way."""
    owners = Owners()
    owners.lose()
    owners.api.delete("foos", "example-foo")
    if live is not None:
        owners.api.put(live)
    for _ in range(3):
        with pytest.raises(OwnerGoneError, match="Foo default/example-foo is gone from the server"):
            owners.reads()
    owners.cache.objects = {}
    if live is not None:
        owners.cache.put(live)
    owners.reads()
    assert [owners.reads() for _ in range(3)] == [0, 0, 0]


def test_an_owner_whose_deletion_is_known_is_not_asked_for() -> None:
    """Its reconciler knows it, too: a foreground deletion costs nothing."""
    owners = Owners()
    owners.cache.put(new_foo(deletion_timestamp=SINCE))
    owners.lose()
    assert owners.reads() == 0


def test_a_failing_read_is_an_error() -> None:
    """The retry asks again."""
    owners = Owners()
    owners.lose()
    owners.api.refuse_read = lambda _target: (503, "ServiceUnavailable")
    for _ in range(2):
        with pytest.raises(ServiceUnavailable):
            owners.reads()
    owners.api.refuse_read = lambda _target: None
    assert [owners.reads() for _ in range(2)] == [1, 0]


def test_who_may_not_read_is_slowed_down() -> None:
    """By owner, while children go on disappearing; logged once. With the role mended it is as ever."""
    owners = Owners()
    owners.api.refuse_read = lambda _target: (403, "Forbidden")
    with captured_logs() as logs:
        for _ in range(2):
            owners.lose()
            assert owners.reads() == 1
            assert owners.reads() == 0
            owners.lose()
            with pytest.raises(HeldBackError):
                owners.reads()
            owners.clock.advance(300)
            assert owners.reads() == 1
            owners.clock.advance(300)
    assert [entry["log_level"] for entry in logs] == ["warning"]
    owners.lose()
    owners.reads()
    owners.lose()
    owners.api.refuse_read = lambda _target: None
    assert owners.reads() == 1


def test_who_may_not_read_lets_a_newer_generation_pass() -> None:
    """A change of the spec is acted on at once; from then on as ever."""
    owners = Owners()
    owners.api.refuse_read = lambda _target: (403, "Forbidden")
    owners.lose()
    owners.reads()
    for generation in (2, 3):
        owners.lose()
        with pytest.raises(HeldBackError):
            owners.reads()
        owners.cache.put(replace(FOO, metadata=replace(FOO.metadata, generation=generation)))
        assert owners.reads() == 1


def test_a_child_that_disappears_during_the_read_counts() -> None:
    """The answer may be older than that."""
    owners = Owners()
    owners.lose()

    def lose_another(_target: str) -> None:
        owners.lose()

    owners.api.refuse_read = lose_another
    assert owners.reads() == 1
    owners.api.refuse_read = lambda _target: None
    assert [owners.reads() for _ in range(2)] == [1, 0]


def test_owners_of_another_replica_are_not_asked_about() -> None:
    """Even if a child disappeared before their slot left; one that stays is asked about."""
    owners = Owners()
    owners.lose()
    owners.recheck.forget_names(lambda _name: False)
    assert owners.reads() == 1
    owners.lose()
    owners.recheck.forget_names(lambda _name: True)
    assert owners.reads() == 0
