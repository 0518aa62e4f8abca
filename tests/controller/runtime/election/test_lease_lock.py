"""One Lease under one identity."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.errors import Conflict
from handloop.controller.runtime.election.lease_lock import LeaseLock, LeaseNotInitializedError
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from support.rigs.election import LeaseAPI

RECORD = LeaseSpec(holder_identity="baz", lease_duration_seconds=15)
FULL = LeaseSpec(
    holder_identity="baz",
    lease_duration_seconds=15,
    acquire_time="2026-01-01T00:00:00.000001Z",
    renew_time="2026-01-01T00:00:02.500000Z",
    lease_transitions=3,
)
COORDINATED = replace(FULL, strategy="OldestEmulationVersion", preferred_holder="bing")
SECONDS = 5.0


@pytest.fixture
def api() -> LeaseAPI:
    """No lease yet."""
    return LeaseAPI()


def lock_on(api: LeaseAPI, *, recorder: FakeRecorder | None = None, identity: str = "baz") -> LeaseLock:
    """A lock on demo/foo."""
    return LeaseLock(api.client(), namespace="demo", name="foo", identity=identity, recorder=recorder)


def test_an_update_needs_a_get_or_a_create_first(api: LeaseAPI) -> None:
    """There is no version to write over yet."""
    with pytest.raises(LeaseNotInitializedError, match="lease not initialized, call get or create first"):
        lock_on(api).update(RECORD, SECONDS)
    assert api.ops == []


def test_a_lock_is_described_by_namespace_and_name(api: LeaseAPI) -> None:
    """And has a name for metrics."""
    lock = lock_on(api)
    assert (lock.describe(), lock.name, lock.identity) == ("demo/foo", "foo", "baz")


def test_what_was_created_can_be_read_and_updated(api: LeaseAPI) -> None:
    """Each answer is remembered for the next update."""
    lock = lock_on(api)
    lock.create(RECORD, SECONDS)
    lock.update(RECORD, SECONDS)
    lock.update(RECORD, SECONDS)
    assert lock.get(SECONDS) == RECORD
    assert api.timeouts == [SECONDS] * 4


@pytest.mark.parametrize("spec", [FULL, COORDINATED, LeaseSpec()])
def test_every_field_is_kept(api: LeaseAPI, spec: LeaseSpec) -> None:
    """There and back."""
    lock = lock_on(api)
    lock.create(spec, SECONDS)
    assert lock.get(SECONDS) == spec
    assert ("strategy" in api.spec("demo/foo")) == (spec is COORDINATED)


def test_an_update_over_a_foreign_one_is_a_conflict(api: LeaseAPI) -> None:
    """Until the lease has been read again."""
    lock, other = lock_on(api), lock_on(api, identity="bing")
    lock.create(RECORD, SECONDS)
    other.get(SECONDS)
    other.update(RECORD, SECONDS)
    with pytest.raises(Conflict):
        lock.update(RECORD, SECONDS)
    lock.get(SECONDS)
    lock.update(RECORD, SECONDS)


def test_labels_of_others_stay(api: LeaseAPI) -> None:
    """A renewal changes nothing but the spec."""
    metadata = ObjectMeta(name="foo", namespace="demo", labels=FrozenMap({"b": "2"}))
    api.client().create(Lease(metadata=metadata, spec=RECORD))
    lock = lock_on(api)
    lock.get(SECONDS)
    lock.update(RECORD, SECONDS)
    assert api.lease("demo/foo")["metadata"]["labels"] == {"b": "2"}


def test_labels_of_ours_come_with_each_write(api: LeaseAPI) -> None:
    """Also to a lease that was made without them; others' stay."""
    labels = FrozenMap({"a": "1"})
    lock = LeaseLock(api.client(), namespace="demo", name="foo", identity="baz", labels=labels)
    lock.create(RECORD, SECONDS)
    assert api.lease("demo/foo")["metadata"]["labels"] == {"a": "1"}
    api.label("demo/foo", {"b": "2"})
    lock.get(SECONDS)
    lock.update(RECORD, SECONDS)
    assert api.lease("demo/foo")["metadata"]["labels"] == {"a": "1", "b": "2"}


def test_an_event_is_about_the_lease(api: LeaseAPI) -> None:
    """Normal LeaderElection `<identity> <text>`, on the Lease, in its namespace."""
    recorder = FakeRecorder(include_object=True)
    lock = lock_on(api, recorder=recorder)
    lock.create(RECORD, SECONDS)
    lock.record_event("became leader")
    assert recorder.events == [
        "Normal LeaderElection baz became leader involvedObject{kind=Lease,apiVersion=coordination.k8s.io/v1}"
    ]


def test_without_a_recorder_an_event_is_nothing(api: LeaseAPI) -> None:
    """And nothing is sent."""
    lock_on(api).record_event("became leader")
    assert api.ops == []
