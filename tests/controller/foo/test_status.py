"""The status of a Foo, whichever CRD is installed."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest

from handloop.client.errors import Conflict, ConnectionBroken, NotFound
from support.builders.foo_builders import new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.doubles.fake_api import FooCRD, Write
from support.rigs.foo_rig import FooRig

_STATUS = ("PATCH", "foos/example-foo/status")
_SCALE = ("PATCH", "deployments/example-foo-deployment")
_IGNORING = {
    FooCRD.STOCK: "subresources.status",
    FooCRD.PRUNED: "status in its schema",
}


def _rig(crd: FooCRD) -> FooRig:
    """A Foo without a status, whose Deployment has one replica available."""
    foo = new_foo()
    return FooRig(foo, new_deployment(foo, available=1), foo_crd=crd)


def _warnings(logs: list[MutableMapping[str, Any]]) -> list[str]:
    return [entry["event"] for entry in logs if entry["log_level"] == "warning"]


def _scale(rig: FooRig, replicas: int) -> None:
    """Change what the Foo wants, and let its controller act on it."""
    rig.api.edit("foos", "example-foo", {"spec": {"replicas": replicas}})
    rig.sync_caches()
    rig.sync()


@pytest.mark.parametrize(("crd", "lacking"), _IGNORING.items())
def test_a_crd_without_status_is_reported_once_and_not_written_again(crd: FooCRD, lacking: str) -> None:
    """One write, one warning with code and fix; after that resyncs write nothing, and nothing fails."""
    with _rig(crd) as rig, captured_logs() as logs:
        for _ in range(5):
            rig.work()
            rig.sync_caches()
        assert rig.writes == [_STATUS]
        assert rig.controller.outcomes.statistics().failed == 0
        assert rig.foo().status.available_replicas is None
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert warning["event"] == f"status updates are ignored: CRD lacks {lacking}"
    assert warning["code"] == "E08"
    assert warning["fix"] == "apply the CRD of this release: foos.samplecontroller.k8s.io"


@pytest.mark.parametrize("crd", _IGNORING)
def test_without_status_the_deployment_is_kept_in_step(crd: FooCRD) -> None:
    """A sync that writes the Deployment tries the status once more: two writes, and no second warning."""
    with _rig(crd) as rig, captured_logs() as logs:
        rig.sync()
        rig.api.writes.clear()
        _scale(rig, 3)
        assert rig.writes == [_SCALE, _STATUS]
        assert rig.deployment().spec.replicas == 3
    assert len(_warnings(logs)) == 1


@pytest.mark.parametrize("crd", _IGNORING)
def test_a_repaired_crd_is_noticed_with_the_next_write_of_a_deployment(crd: FooCRD) -> None:
    """From the first status that is kept on, all are written again."""
    other = new_foo("other", available=0)
    with _rig(crd) as rig, captured_logs():
        rig.api.put(other)
        rig.api.put(new_deployment(other, available=1))
        rig.sync()
        rig.api.foo_crd = FooCRD.SUBRESOURCE
        _scale(rig, 2)
        rig.sync_caches()
        assert rig.foo().status.available_replicas == 1
        rig.sync(rig.name("other"))
        assert rig.foo("other").status.available_replicas == 1


def test_a_repaired_crd_is_noticed_although_the_answer_is_lost() -> None:
    """The retry writes no Deployment, and still the status."""

    def lose(_number: int, write: Write) -> None:
        if write.target.endswith("/status"):
            raise ConnectionBroken("the connection broke")

    with _rig(FooCRD.STOCK) as rig, captured_logs():
        rig.sync()
        rig.api.foo_crd = FooCRD.SUBRESOURCE
        rig.api.after_write = lose
        with pytest.raises(ConnectionBroken):
            _scale(rig, 2)
        rig.api.edit("foos", "example-foo", {"status": None})
        rig.sync_caches()
        rig.api.after_write = lambda _number, _write: None
        rig.sync()
        assert rig.foo().status.available_replicas == 1


def test_a_crd_that_loses_the_status_is_reported() -> None:
    """It was kept before, so a 404 is asked about: the Foo is there, the subresource is not."""
    with _rig(FooCRD.SUBRESOURCE) as rig, captured_logs() as logs:
        rig.sync()
        rig.api.foo_crd = FooCRD.STOCK
        rig.api.edit("deployments", "example-foo-deployment", {"status": {"availableReplicas": 0}})
        rig.sync_caches()
        rig.sync()
        assert rig.api.reads == ["foos/example-foo"]
    assert _warnings(logs) == ["status updates are ignored: CRD lacks subresources.status"]


@pytest.mark.parametrize("crd", list(FooCRD))
def test_foos_that_are_deleted_prove_nothing_about_the_crd(crd: FooCRD) -> None:
    """A 404 that is not about the subresource is raised, and decides nothing."""
    with _rig(crd) as rig, captured_logs() as logs:
        rig.api.delete("foos", "example-foo")
        for _ in range(3):
            with pytest.raises(NotFound):
                rig.sync()
    assert _warnings(logs) == []


def test_a_foo_that_was_made_anew_proves_nothing_about_the_crd() -> None:
    """The one whose status was to be written is gone, and the server's 404 meant it."""
    with _rig(FooCRD.SUBRESOURCE) as rig, captured_logs() as logs:

        def come_back(_target: str) -> None:
            rig.api.put(new_foo(uid="another"))

        rig.api.delete("foos", "example-foo")
        rig.api.refuse_read = come_back
        with pytest.raises(NotFound):
            rig.sync()
    assert _warnings(logs) == []


@pytest.mark.parametrize("crd", [FooCRD.SUBRESOURCE, FooCRD.PRUNED])
def test_a_foo_that_has_changed_is_a_conflict(crd: FooCRD) -> None:
    """The write carries the resource version that was read."""
    with _rig(crd) as rig:
        rig.api.edit("foos", "example-foo", {"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(Conflict):
            rig.sync()
        assert rig.foo().status.available_replicas is None


@pytest.mark.parametrize("crd", list(FooCRD))
def test_the_controller_is_silent_under_every_crd_once_settled(crd: FooCRD) -> None:
    """Whatever the CRD does with the status, five resyncs of a settled Foo make no request."""
    with _rig(crd) as rig:
        rig.sync()
        rig.sync_caches()
        rig.sync()
        before = list(rig.writes)
        for _ in range(5):
            rig.sync()
        assert rig.writes == before
        kept = crd is FooCRD.SUBRESOURCE
        assert rig.foo().status.available_replicas == (1 if kept else None)
        assert rig.recorder.events == (["Normal Synced Foo synced successfully"] if kept else [])
