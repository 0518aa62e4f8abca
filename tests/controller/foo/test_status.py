from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from handloop.client.errors import Conflict, NotFound
from handloop.client.resource_client import Client
from handloop.controller.foo.status import TRY_AGAIN_SECONDS, FooStatusWriter
from handloop.controller.foo.types import Foo
from support.captured_logs import captured_logs
from support.fake_api import FakeAPI, FooCRD
from support.fake_clock import FakeClock
from support.foo_builders import new_deployment, new_foo
from support.foo_rig import FooRig

_PUT = ("PUT", "foos/example-foo/status")
_PATCH = ("PATCH", "foos/example-foo")


class _Rig:
    """A status writer on a fake API with one Foo."""

    def __init__(self, crd: FooCRD) -> None:
        self.api = FakeAPI(foo_crd=crd)
        self.api.put(new_foo())
        self.clock = FakeClock()
        self.writer = FooStatusWriter(Client(self.api).resource(Foo), field_manager="test", clock=self.clock)

    def write(self, available: int, name: str = "example-foo") -> bool:
        """Write a status over the Foo as it is, and forget the requests before."""
        self.api.writes.clear()
        version = self.api.get(Foo, name).metadata.resource_version
        return self.writer.write(new_foo(name, available=available, resource_version=version))

    @property
    def available(self) -> int | None:
        return self.api.get(Foo, "example-foo").status.available_replicas

    @property
    def requests(self) -> list[tuple[str, str]]:
        return [(write.method, write.target) for write in self.api.writes]


def _warnings(logs: list[MutableMapping[str, Any]]) -> list[str]:
    return [entry["event"] for entry in logs if entry["log_level"] == "warning"]


def test_the_subresource_is_used_where_there_is_one() -> None:
    """PUT of the status, with the resource version read and the field manager."""
    rig = _Rig(FooCRD.SUBRESOURCE)
    assert rig.write(2)
    assert rig.requests == [_PUT]
    assert rig.api.writes[0].query == {"fieldManager": "test"}
    assert rig.available == 2


def test_the_stock_crd_takes_the_status_with_the_object() -> None:
    """Without the subresource the status goes with the object; the next write goes there at once."""
    rig = _Rig(FooCRD.STOCK)
    version = rig.api.get(Foo, "example-foo").metadata.resource_version
    with captured_logs() as logs:
        assert rig.write(2)
        assert rig.requests == [_PUT, _PATCH]
        assert rig.api.writes[1].body == {
            "metadata": {"resourceVersion": version},
            "status": {"availableReplicas": 2},
        }
        assert rig.write(1)
    assert rig.requests == [_PATCH]
    assert rig.available == 1
    assert _warnings(logs) == []


@pytest.mark.parametrize(
    ("crd", "lacking", "tried", "tried_again"),
    [
        (FooCRD.PRUNED, "subresources.status, and status in its schema", [_PUT, _PATCH], [_PUT, _PATCH]),
        (FooCRD.PRUNED_SUBRESOURCE, "status in its schema", [_PUT], [_PUT]),
    ],
)
def test_a_crd_without_status_is_said_once_and_not_written_again(
    crd: FooCRD, lacking: str, tried: list[tuple[str, str]], tried_again: list[tuple[str, str]]
) -> None:
    """The server drops the status: one warning, no second write of that value, one try for another value."""
    rig = _Rig(crd)
    with captured_logs() as logs:
        assert not rig.write(2)
        assert rig.requests == tried
        for _ in range(5):
            assert not rig.write(2)
            assert rig.requests == []
        assert not rig.write(3)
        assert rig.requests == tried_again
    assert _warnings(logs) == [f"status updates are ignored: CRD lacks {lacking}"]


def test_without_the_right_to_patch_the_stock_crd_means_no_status() -> None:
    """RBAC allows the subresource only, and the CRD has none: said once, not tried again for that value."""
    rig = _Rig(FooCRD.STOCK)
    rig.api.may_patch_foos = False
    with captured_logs() as logs:
        assert not rig.write(2)
        assert rig.requests == [_PUT, _PATCH]
        assert not rig.write(2)
        assert rig.requests == []
    assert _warnings(logs) == [
        "status updates are ignored: CRD lacks subresources.status, and we may not patch foos instead"
    ]


def test_foos_that_are_deleted_together_say_nothing_about_the_crd() -> None:
    """Who may not patch gets a 403 also for what is gone: an error for each, and no warning."""
    rig = _Rig(FooCRD.SUBRESOURCE)
    rig.api.may_patch_foos = False
    assert rig.write(1)
    version = rig.api.get(Foo, "example-foo").metadata.resource_version
    rig.api.foo_crd = FooCRD.STOCK  # answers a PUT of the status as for a Foo that is gone
    with captured_logs() as logs:
        for _ in range(3):
            with pytest.raises(NotFound):
                rig.writer.write(new_foo(available=2, resource_version=version))
    assert _warnings(logs) == []


def test_a_repaired_crd_is_noticed_with_the_next_value() -> None:
    """Once status is in the schema, the next change of the status is written."""
    rig = _Rig(FooCRD.PRUNED)
    assert not rig.write(2)
    rig.api.foo_crd = FooCRD.SUBRESOURCE
    assert rig.write(3)
    assert rig.available == 3


def test_a_repaired_crd_is_noticed_within_a_minute() -> None:
    """One dropped status a minute is tried again, whosever; with the first that is taken all are written."""
    rig = _Rig(FooCRD.PRUNED_SUBRESOURCE)
    rig.api.put(new_foo("other"))
    assert not rig.write(2)
    assert not rig.write(2, "other")
    rig.clock.advance(TRY_AGAIN_SECONDS)
    tried = [(rig.write(2, name), len(rig.requests)) for name in ("other", "example-foo", "other")]
    assert tried == [(False, 1), (False, 0), (False, 0)]
    rig.api.foo_crd = FooCRD.SUBRESOURCE
    assert not rig.write(2)
    rig.clock.advance(TRY_AGAIN_SECONDS)
    assert rig.write(2)
    assert rig.write(2, "other")


def test_a_subresource_that_appears_is_found() -> None:
    """The CRD gains the subresource: the object no longer takes the status, and the subresource is tried."""
    rig = _Rig(FooCRD.STOCK)
    assert rig.write(1)
    rig.api.foo_crd = FooCRD.SUBRESOURCE
    assert rig.write(2)
    assert rig.requests == [_PATCH, _PUT]
    assert rig.write(3)
    assert rig.requests == [_PUT]


def test_a_subresource_that_disappears_costs_one_retry() -> None:
    """After a success a 404 means a deleted Foo: it is raised; the retry finds out that it was the CRD."""
    rig = _Rig(FooCRD.SUBRESOURCE)
    assert rig.write(1)
    rig.api.foo_crd = FooCRD.STOCK
    with pytest.raises(NotFound):
        rig.write(2)
    assert rig.requests == [_PUT]
    assert rig.write(2)
    assert rig.requests == [_PUT, _PATCH]


def test_a_schema_that_loses_the_status_is_said() -> None:
    """The object took the status before and no longer does, and there is no subresource."""
    rig = _Rig(FooCRD.STOCK)
    assert rig.write(1)
    rig.api.foo_crd = FooCRD.PRUNED
    with captured_logs() as logs:
        assert not rig.write(2)
    assert rig.requests == [_PATCH, _PUT]
    assert len(_warnings(logs)) == 1


@pytest.mark.parametrize("crd", list(FooCRD))
def test_a_foo_that_is_gone_is_an_error_under_every_crd(crd: FooCRD) -> None:
    """A 404 that is not about the subresource is raised, and decides nothing."""
    rig = _Rig(crd)
    rig.api.delete("foos", "example-foo")
    with pytest.raises(NotFound):
        rig.writer.write(new_foo(available=2))


@pytest.mark.parametrize("crd", list(FooCRD))
def test_a_foo_that_has_changed_is_a_conflict_under_every_crd(crd: FooCRD) -> None:
    """Both ways of writing carry the resource version that was read."""
    rig = _Rig(crd)
    with pytest.raises(Conflict):
        rig.writer.write(new_foo(available=2, resource_version="1"))
    assert rig.available is None


@pytest.mark.parametrize("crd", list(FooCRD))
def test_the_controller_is_silent_under_every_crd_once_settled(crd: FooCRD) -> None:
    """Whatever the CRD does with the status, five resyncs of a settled Foo make no request."""
    foo = new_foo()
    with FooRig(foo, new_deployment(foo, available=1), foo_crd=crd) as rig:
        rig.sync()
        rig.sync_caches()
        rig.sync()
        before = list(rig.writes)
        for _ in range(5):
            rig.sync()
        assert rig.writes == before
        kept = crd in (FooCRD.SUBRESOURCE, FooCRD.STOCK)
        assert rig.foo().status.available_replicas == (1 if kept else None)
        assert rig.recorder.events == (["Normal Synced Foo synced successfully"] if kept else [])
