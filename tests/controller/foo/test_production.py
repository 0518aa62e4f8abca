from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import msgspec
import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.evolve import evolve
from handloop.apis.meta import OwnerReference
from handloop.client.decoding.pages import Undecodable
from handloop.client.errors import AlreadyExists, APIError, Conflict, ConnectionBroken, NotFound
from handloop.controller.foo.controller import (
    CachesNotSyncedError,
    default_rate_limiter,
    new_deployment,
    scale_patch,
)
from handloop.controller.foo.production import ResourceExistsError
from handloop.controller.runtime.reconcile import WaitError
from handloop.controller.runtime.sharding.slot_work import OPENING_SECONDS, SlotOpening
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import disowned, new_foo
from support.builders.foo_builders import new_deployment as stored_deployment
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.doubles.fake_api import Write
from support.rigs.foo_rig import EXAMPLE, FooRig
from support.rigs.reconcile_rig import no_thread

_DEADLINE_SECONDS = 20.0
_SYNCED = "Normal Synced Foo synced successfully"
_TAKEN = (
    'Warning ErrResourceExists Resource "example-foo-deployment" already exists and is not managed by Foo'
)
_CREATE = ("POST", "deployments")
_SCALE = ("PATCH", "deployments/example-foo-deployment")
_STATUS = ("PATCH", "foos/example-foo/status")


# sync_handler


def test_a_missing_deployment_is_created() -> None:
    """The Deployment as the Foo wants it, a status of 0, one event. Follows TestCreatesDeployment."""
    with FooRig(new_foo(replicas=2)) as rig:
        seen = rig.foo()
        rig.sync()
        assert rig.writes == [_CREATE, _STATUS]
        create, status = rig.api.writes
        assert create.query == status.query == {"fieldManager": "sample-controller"}
        assert create.body == json.loads(msgspec.json.encode(new_deployment(seen)))
        assert status.body["metadata"]["resourceVersion"] == seen.metadata.resource_version
        assert status.body["status"] == {"availableReplicas": 0}
        assert rig.recorder.events == [_SYNCED]
        rig.sync_caches()
        rig.sync()
        assert len(rig.writes) == 2
        assert rig.recorder.events == [_SYNCED]


def test_creating_also_corrects_a_status_that_is_wrong() -> None:
    """A status left over from an earlier Deployment is written, too."""
    with FooRig(new_foo(available=3)) as rig:
        rig.sync()
        assert rig.writes == [_CREATE, _STATUS]
        assert rig.foo().status.available_replicas == 0


def test_a_matching_deployment_only_updates_the_status() -> None:
    """The Deployment's available replicas go into the status. Follows TestDoNothing."""
    with FooRig(new_foo(), stored_deployment(new_foo(), available=1)) as rig:
        version = rig.foo().metadata.resource_version
        rig.sync()
        assert rig.writes == [_STATUS]
        assert rig.api.writes[0].query == {"fieldManager": "sample-controller"}
        assert rig.api.writes[0].body["metadata"]["resourceVersion"] == version
        assert rig.foo().status.available_replicas == 1
        assert rig.recorder.events == [_SYNCED]


def test_other_replicas_scale_the_deployment() -> None:
    """A merge patch of the replicas, then the status. Follows TestUpdateDeployment."""
    with FooRig(new_foo(replicas=2), stored_deployment(new_foo(), available=1)) as rig:
        before = rig.deployment()
        rig.sync()
        assert rig.writes == [_SCALE, _STATUS]
        patch = rig.api.writes[0]
        assert patch.query == {"fieldManager": "sample-controller"}
        assert patch.body == scale_patch(before, 2)
        assert rig.deployment().spec.replicas == 2
        assert rig.recorder.events == [_SYNCED]


def test_a_foreign_deployment_is_an_error_and_left_alone() -> None:
    """No write, a Warning, and the error that makes it retry. Follows TestNotControlledByUs."""
    with FooRig(new_foo(), disowned(stored_deployment(new_foo(), replicas=4))) as rig:
        with captured_logs() as logs, pytest.raises(ResourceExistsError, match="is not managed by Foo"):
            rig.sync()
        assert rig.writes == []
        assert rig.recorder.events == [_TAKEN]
    (entry,) = logs
    assert entry["event"] == (
        "default/example-foo-deployment exists and is not managed by Foo default/example-foo"
    )
    assert entry["cause"] == "owner: none"


def test_a_missing_foo_is_settled() -> None:
    """A name that the cache does not have is logged at info, and neither written nor retried."""
    with FooRig() as rig:
        with captured_logs() as logs:
            rig.sync()
        assert rig.writes == []
        assert rig.recorder.events == []
    assert [(entry["log_level"], entry["event"]) for entry in logs] == [
        ("info", "Foo referenced by item in work queue no longer exists")
    ]


def test_an_empty_deployment_name_is_settled_and_reported_once() -> None:
    """Nothing is written or retried; one Warning per version informs the user."""
    with FooRig(new_foo(deployment_name="")) as rig:
        with captured_logs() as logs:
            for _ in range(3):
                rig.work()
        assert [line["once"] for line in logs if line["log_level"] == "error"] == [True]
        assert rig.writes == []
        assert rig.queue.num_requeues(EXAMPLE) == 0
        assert rig.recorder.take() == ["Warning InvalidObject spec.deploymentName is empty"]
        rig.api.edit("foos", "example-foo", {"metadata": {"labels": {"a": "b"}}})
        rig.sync_caches()
        rig.work()
        assert rig.recorder.events == ["Warning InvalidObject spec.deploymentName is empty"]


def test_a_deployment_the_server_refuses_is_reported_and_settled() -> None:
    """A name that is no DNS name is answered with 422: the server's words become a Warning, no retry."""
    with FooRig(new_foo(deployment_name="Bad_Name")) as rig:
        rig.work()
        rig.work()
        assert rig.queue.num_requeues(EXAMPLE) == 0
        (event,) = rig.recorder.events
        assert event.startswith('Warning InvalidObject Deployment.apps "Bad_Name" is invalid')


def test_a_foo_without_replicas_leaves_them_alone() -> None:
    """With spec.replicas unset any number in the Deployment is right, and the server's default at first."""
    with FooRig(new_foo(replicas=None, available=0), stored_deployment(new_foo(), replicas=7)) as rig:
        rig.sync()
        assert rig.writes == []
    with FooRig(new_foo(replicas=None, available=0)) as rig:
        rig.sync()
        assert "replicas" not in rig.api.writes[0].body["spec"]
        assert rig.deployment().spec.replicas == 1


def test_a_foo_that_is_being_deleted_gets_no_deployment() -> None:
    """A foreground deletion removed the Deployment: it is not made again, nor is the status written."""
    with FooRig(new_foo(deletion_timestamp="2023-11-14T22:13:20Z", available=1)) as rig:
        rig.sync()
        assert rig.writes == []
        assert rig.recorder.events == []


def test_a_paused_foo_is_left_alone() -> None:
    """Until the annotation goes; another value pauses nothing."""
    key = "samplecontroller.k8s.io/paused"
    for value, writes in (("true", []), ("yes", [_CREATE, _STATUS])):
        foo = new_foo(replicas=2)
        with FooRig(evolve(foo, f'metadata.annotations["{key}"]', value)) as rig:
            rig.sync()
            assert rig.writes == writes


def test_a_renamed_deployment_is_made_and_the_old_one_left() -> None:
    """Changing spec.deploymentName creates the new one; the old one stays until its owner goes."""
    old = stored_deployment(new_foo(), available=1)
    with FooRig(new_foo(deployment_name="renamed", available=0), old) as rig:
        rig.sync()
        assert rig.writes == [_CREATE]
        assert rig.deployment("renamed").spec.replicas == 1
        assert rig.deployment().spec == old.spec


def test_a_deployment_of_an_earlier_foo_of_that_name_is_not_adopted() -> None:
    """The owner's UID is compared: a re-created Foo waits until the old Deployment is collected."""
    with FooRig(new_foo(uid="new"), stored_deployment(new_foo(uid="old"))) as rig:
        with pytest.raises(WaitError, match="of an earlier Foo example-foo is not"):
            rig.sync()
        with captured_logs() as logs:
            rig.work()
        assert (rig.writes, rig.recorder.events) == ([], [])
        assert (rig.queue.num_requeues(EXAMPLE), rig.queue.statistics().delayed) == (0, 1)
    assert [line["event"] for line in logs if line["log_level"] != "debug"] == ["Sync waits"]


def test_a_stale_cache_is_refused_by_the_server() -> None:
    """The Deployment exists but the cache does not have it: AlreadyExists, to be retried."""
    with FooRig(new_foo(available=0)) as rig:
        rig.sync()
        with pytest.raises(AlreadyExists):
            rig.sync()
        rig.sync_caches()
        rig.sync()
        assert rig.writes == [_CREATE, _CREATE]


@pytest.mark.parametrize(
    ("interfere", "error"),
    [
        (
            lambda rig: rig.api.edit("deployments", "example-foo-deployment", {"spec": {"replicas": 5}}),
            Conflict,
        ),
        (lambda rig: rig.api.delete("deployments", "example-foo-deployment"), NotFound),
        (lambda rig: rig.api.put(disowned(stored_deployment(new_foo(uid="x")))), Conflict),
    ],
    ids=["changed", "deleted", "re-created"],
)
def test_scaling_holds_only_for_the_state_that_was_seen(
    interfere: Callable[[FooRig], None], error: type[APIError]
) -> None:
    """A change by another client to the Deployment since is not overwritten."""
    with FooRig(new_foo(replicas=2), stored_deployment(new_foo())) as rig:
        interfere(rig)
        before = rig.api.objects.get(("deployments", "default", "example-foo-deployment"))
        with pytest.raises(error):
            rig.sync()
        assert rig.api.objects.get(("deployments", "default", "example-foo-deployment")) == before


def test_a_status_is_written_only_over_the_state_that_was_seen() -> None:
    """A Foo that changed since it was read answers Conflict."""
    with FooRig(new_foo(), stored_deployment(new_foo(), available=1)) as rig:
        rig.api.edit("foos", "example-foo", {"spec": {"replicas": 3}})
        with pytest.raises(Conflict):
            rig.sync()


# neither a write nor a line when nothing changed


def test_five_resyncs_and_a_restart_write_and_log_nothing() -> None:
    """In the steady state there is no request and no event, also for a process that has no memory of it."""
    with FooRig(new_foo(available=1), stored_deployment(new_foo(), available=1)) as rig:
        for _ in range(5):
            rig.work()
        rig.restart()
        rig.work()
        assert rig.writes == []
        assert rig.recorder.events == []


def test_success_after_a_failure_is_reported_even_if_nothing_is_left_to_write() -> None:
    """The answer to a create is lost: the retry finds everything in order, and the user gets the event."""

    def lose(_number: int, _write: Write) -> None:
        raise ConnectionBroken("reset by peer", outcome_unknown=True)

    with FooRig(new_foo(available=0)) as rig:
        rig.api.after_write = lose
        rig.work()
        assert rig.recorder.events == []
        rig.sync_caches()
        rig.work()
        assert rig.writes == [_CREATE]
        assert rig.recorder.events == [_SYNCED]
        rig.work()
        assert rig.recorder.events == [_SYNCED]


# handlers


def test_every_event_of_a_foo_enqueues_it() -> None:
    """Add and update enqueue the name, a resync as well; a deletion is the garbage collector's work."""
    with FooRig() as rig:
        (handler,) = rig.foos.handlers
        handler.on_add(new_foo(), True)
        assert rig.queued() == [EXAMPLE]
        handler.on_update(new_foo(), new_foo())
        assert rig.queued() == [EXAMPLE]
        handler.on_delete(new_foo())
        assert rig.queued() == []


def test_a_resync_leaves_a_foo_that_backs_off_alone() -> None:
    """Its retry comes at its own time, a change at once; after a success resyncs count again."""
    with FooRig() as rig:
        (handler,) = rig.foos.handlers
        rig.controller._report_outcome(EXAMPLE, api_error(404, "NotFound"))
        handler.on_update(new_foo(), new_foo())
        assert rig.queued() == []
        handler.on_update(new_foo(), new_foo(resource_version="2"))
        assert rig.queued() == [EXAMPLE]
        rig.controller._report_outcome(EXAMPLE, None)
        handler.on_update(new_foo(), new_foo())
        assert rig.queued() == [EXAMPLE]


def test_an_object_without_metadata_is_not_enqueued() -> None:
    """Something without a name is logged and dropped."""
    with FooRig() as rig, captured_logs() as logs:
        (handler,) = rig.foos.handlers
        handler.on_add("no object", is_in_initial_list=False)  # type: ignore[arg-type] # what none should get
        assert rig.queued() == []
    assert [entry["event"] for entry in logs] == ["Error creating object reference"]


def test_deployment_events_enqueue_the_owner() -> None:
    """Add, change and deletion of a Deployment enqueue its Foo; equal versions enqueue nothing."""
    old, new = (stored_deployment(new_foo(), resource_version=version) for version in ("1", "2"))
    with FooRig(new_foo()) as rig:
        (handler,) = rig.deployments.handlers
        handler.on_add(new, False)
        assert rig.queued() == [EXAMPLE]
        handler.on_update(old, new)
        assert rig.queued() == [EXAMPLE]
        handler.on_update(new, new)
        assert rig.queued() == []
        handler.on_delete(new)
        assert rig.queued() == [EXAMPLE]


def test_the_tombstone_of_a_deployment_enqueues_the_owner() -> None:
    """A deletion that was missed arrives as a tombstone and counts as well."""
    deployment = stored_deployment(new_foo())
    with FooRig(new_foo()) as rig, captured_logs() as logs:
        (handler,) = rig.deployments.handlers
        handler.on_delete(DeletedFinalStateUnknown("default/example-foo-deployment", deployment))
        assert rig.queued() == [EXAMPLE]
    assert [entry["event"] for entry in logs] == ["Recovered deleted object", "Processing object"]


def test_a_tombstone_without_state_still_frees_the_name() -> None:
    """With only the key known, the Foos that name the Deployment are enqueued."""
    with FooRig(new_foo()) as rig:
        (handler,) = rig.deployments.handlers
        handler.on_delete(DeletedFinalStateUnknown("default/example-foo-deployment", None))
        assert rig.queued() == [EXAMPLE]


def _owned_by(**changes: str) -> Deployment:
    deployment = stored_deployment(new_foo())
    reference = replace(deployment.metadata.owner_references[0], **changes)
    metadata = replace(deployment.metadata, owner_references=(reference,))
    return replace(deployment, metadata=metadata)


def _with_plain_owner() -> Deployment:
    deployment = stored_deployment(new_foo())
    owner: OwnerReference = replace(deployment.metadata.owner_references[0], controller=False)
    metadata = replace(deployment.metadata, owner_references=(owner,))
    return replace(deployment, metadata=metadata)


_PROCESSING = "Processing object"
_ORPHAN = "Ignore orphaned object"


@pytest.mark.parametrize(
    ("obj", "enqueued", "logged"),
    [
        (stored_deployment(new_foo()), True, [_PROCESSING]),
        (_owned_by(api_version="samplecontroller.k8s.io/v1"), True, [_PROCESSING]),
        (disowned(stored_deployment(new_foo())), False, [_PROCESSING]),
        (_with_plain_owner(), False, [_PROCESSING]),
        (_owned_by(kind="ReplicaSet"), False, [_PROCESSING]),
        (_owned_by(api_version="other.io/v1alpha1"), False, [_PROCESSING]),
        (_owned_by(api_version="v1"), False, [_PROCESSING]),
        (_owned_by(uid="of-an-earlier-foo"), False, [_PROCESSING, _ORPHAN]),
        (_owned_by(name="no-such-foo"), False, [_PROCESSING, _ORPHAN]),
        (stored_deployment(new_foo(namespace="other")), False, [_PROCESSING, _ORPHAN]),
        ("no object", False, ["Error decoding object, invalid type"]),
        (None, False, ["Error decoding object, invalid type"]),
        (
            DeletedFinalStateUnknown("default/x", "no object"),
            False,
            ["Error decoding object tombstone, invalid type"],
        ),
    ],
    ids=[
        "owned",
        "owned-by-another-version",
        "no-owner",
        "owner-not-controller",
        "other-kind",
        "other-group",
        "core-group",
        "other-uid",
        "foo-gone",
        "other-namespace",
        "no-object",
        "none",
        "tombstone-of-no-object",
    ],
)
def test_handle_object_finds_the_controlling_foo(obj: object, enqueued: bool, logged: list[str]) -> None:
    """Only a controller reference to a living Foo, by group, kind, name and UID, enqueues it."""
    with FooRig(new_foo()) as rig, captured_logs() as logs:
        rig.controller._handle_object(obj)
        assert rig.queued() == ([EXAMPLE] if enqueued else [])
    assert [entry["event"] for entry in logs] == logged


def test_the_deletion_of_a_foreign_deployment_wakes_the_foo_that_wants_its_name() -> None:
    """Recovery does not wait for the back-off; Foos that name another Deployment sleep on."""
    foreign = disowned(stored_deployment(new_foo()))
    with FooRig(
        new_foo(available=0), new_foo("other"), new_foo("nameless", deployment_name=""), foreign
    ) as rig:
        rig.api.delete("deployments", "example-foo-deployment")
        rig.sync_caches()
        (handler,) = rig.deployments.handlers
        handler.on_delete(foreign)
        assert rig.queued() == [EXAMPLE]
        rig.sync()
        assert rig.writes == [_CREATE]


def test_a_deployment_replaced_without_a_watch_wakes_both_foos() -> None:
    """A list shows the new one alone: who had the old one, or wants the name, hears of it, too."""
    old = stored_deployment(new_foo())
    new = disowned(replace(old, metadata=replace(old.metadata, uid="another", resource_version="99")))
    with FooRig(new_foo(), new) as rig:
        (handler,) = rig.deployments.handlers
        handler.on_update(old, new)
        assert rig.queued() == [EXAMPLE]


def test_a_foo_that_does_not_fit_its_type_gets_a_warning_once_per_version() -> None:
    """An undecodable Foo is in no cache; the event names it by kind, key and UID."""

    def undecodable(version: str) -> Undecodable:
        raw = b'{"metadata":{"uid":"uid-1"},"spec":{"replicas":11}}'
        return Undecodable("default", "example-foo", version, raw, "Expected `int` <= 10")

    with FooRig() as rig:
        for version in ("1", "1", "2"):
            rig.foos.quarantine.add(undecodable(version))
            rig.foos.quarantine.release(["default/example-foo"])
        assert rig.recorder.events == ["Warning InvalidObject Expected `int` <= 10"] * 2
        assert rig.queued() == []


# workers


def test_a_settled_item_is_forgotten() -> None:
    """After a success the count of failures is gone and the item is done."""
    with FooRig(new_foo()) as rig, captured_logs() as logs:
        rig.queue.add_rate_limited(EXAMPLE)
        rig.work()
        assert rig.queue.num_requeues(EXAMPLE) == 0
        assert rig.controller.outcomes.statistics() == (1, 0, 0)
    assert ("Successfully synced", EXAMPLE) in [(entry["event"], entry.get("objectName")) for entry in logs]


def test_a_failed_item_comes_back_with_back_off() -> None:
    """A sync error adds the item rate limited and does not forget it: 5 ms, then 10 ms."""
    with FooRig(new_foo(), disowned(stored_deployment(new_foo()))) as rig:
        for failures, delay in ((1, 0.005), (2, 0.010)):
            rig.work()
            assert rig.queue.num_requeues(EXAMPLE) == failures
            assert len(rig.queue) == 0
            rig.clock.wait_for_waiters(1)
            assert rig.clock.deadlines() == [pytest.approx(rig.clock.now() + delay)]
            rig.clock.advance(delay)
            assert rig.queue.get() == EXAMPLE
            rig.queue.done(EXAMPLE)
        assert rig.controller.outcomes.statistics() == (0, 2, 0)


def test_a_server_that_asks_for_time_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a 429 with Retry-After: 7 the Foo waits in the queue, and no worker with it."""

    def limited(_name: ObjectName) -> None:
        raise api_error(429, "TooManyRequests", retry_after_seconds=7)

    with FooRig(new_foo()) as rig:
        monkeypatch.setattr(rig.controller, "sync_handler", limited)
        rig.work()
        assert rig.queue.num_requeues(EXAMPLE) == 1
        rig.clock.wait_for_waiters(1)
        assert rig.clock.deadlines() == [pytest.approx(rig.clock.now() + 7)]


@pytest.mark.parametrize(
    "error",
    [ValueError("bug"), MemoryError(), RecursionError("deep"), SystemExit(3), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_no_exception_ends_a_worker(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a sync raises is counted, logged with its traceback, and retried."""

    def explode(_name: ObjectName) -> None:
        raise error

    with FooRig(new_foo()) as rig, captured_logs() as logs:
        monkeypatch.setattr(rig.controller, "sync_handler", explode)
        rig.work()
        assert rig.queue.num_requeues(EXAMPLE) == 1
        assert rig.controller.outcomes.statistics() == (0, 1, 1)
    failure = logs[-1]
    assert failure["event"] == "Error syncing; requeuing for later retry"
    assert failure["err"] == repr(error)
    assert failure["exc_info"] is error


def test_a_foo_of_a_slot_that_opens_is_synced_once() -> None:
    """The opening wakes it; time alone brings nothing, neither before nor after."""
    opening = [SlotOpening("slot 0 is not open yet")]

    @contextmanager
    def admitted(_name: ObjectName) -> Iterator[None]:
        if opening:
            raise opening[0]
        yield

    with FooRig(new_foo(), spawn=no_thread, admitted=admitted) as rig:
        rig.work()
        rig.work_off(OPENING_SECONDS)
        opening.clear()
        rig.work_off(OPENING_SECONDS)
        assert rig.writes == []
        rig.controller.wake(EXAMPLE)
        rig.work_off(OPENING_SECONDS)
        assert rig.recorder.events == [_SYNCED]


def test_a_worker_ends_with_the_queue() -> None:
    """Once the queue is shut down there is no next item."""
    with FooRig() as rig:
        rig.queue.shut_down()
        assert not rig.controller._process_next_work_item()
        rig.controller._run_worker(threading.Event())


def test_a_worker_outlives_a_broken_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """When even reporting fails, the worker waits a second and goes on; no item is lost."""
    calls: list[ObjectName] = []
    stop = threading.Event()

    def broken(name: ObjectName, **_: str) -> None:
        calls.append(name)
        raise BrokenPipeError

    def slept(seconds: float, _stop: threading.Event) -> bool:
        assert seconds == 1.0
        if len(calls) == 2:
            stop.set()
        return stop.is_set()

    with FooRig(new_foo(available=0), new_foo("other", available=0)) as rig:
        monkeypatch.setattr(rig.controller.outcomes, "succeeded", broken)
        monkeypatch.setattr(rig.clock, "sleep", slept)
        rig.queue.add(EXAMPLE)
        rig.queue.add(ObjectName("default", "other"))
        rig.controller._run_worker(stop)
        assert calls == [EXAMPLE, ObjectName("default", "other")]
        assert len(rig.writes) == 2


# run


class _Running:
    """Controller.run on a thread of its own, with syncs that a test holds up."""

    def __init__(self, rig: FooRig, monkeypatch: pytest.MonkeyPatch, *, workers: int) -> None:
        self.stop = threading.Event()
        self.entered = threading.Semaphore(0)
        self.release = threading.Event()
        self.started: list[ObjectName] = []
        monkeypatch.setattr(rig.controller, "_has_synced", (lambda: True,))
        monkeypatch.setattr(rig.controller, "sync_handler", self._sync)
        self._thread = threading.Thread(target=rig.controller.run, args=(workers, self.stop))
        self._thread.start()

    def _sync(self, name: ObjectName) -> None:
        self.started.append(name)
        self.entered.release()
        assert self.release.wait(_DEADLINE_SECONDS)

    def wait_for_syncs(self, count: int) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=_DEADLINE_SECONDS)

    def join(self) -> bool:
        self._thread.join(_DEADLINE_SECONDS)
        return not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.release.set()
        self.join()


_NAMES = [ObjectName("default", f"foo-{number}") for number in range(3)]


def test_run_works_with_as_many_workers_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers have two syncs in flight; the third item waits."""
    with FooRig() as rig, _Running(rig, monkeypatch, workers=2) as running:
        rig.queue.add_all(_NAMES)
        running.wait_for_syncs(2)
        assert rig.controller.workers_alive() == 2
        assert len(rig.queue) == 1
        running.release.set()
        running.wait_for_syncs(1)
        running.stop.set()
        assert running.join()
        assert sorted(running.started) == _NAMES
        assert rig.controller.workers_alive() == 0
        assert rig.controller.outcomes.statistics() == (3, 0, 0)


def test_workers_that_are_slow_to_begin_have_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe may come between the start of the first worker and that of the last."""
    seen = []

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        if name.startswith("worker-"):
            seen.append((rig.controller.workers_alive(), rig.controller.workers_ended()))
        return spawn_thread(name, target)

    with FooRig(spawn=spawn) as rig, _Running(rig, monkeypatch, workers=2) as running:
        rig.queue.add_all(_NAMES)
        running.wait_for_syncs(2)
    assert seen == [(2, 0), (2, 0)]


def test_a_stop_lets_the_sync_in_flight_end_and_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """After stop, run returns when the worker has finished what it had begun; queued items are left."""
    with FooRig() as rig, _Running(rig, monkeypatch, workers=1) as running:
        rig.queue.add_all(_NAMES)
        running.wait_for_syncs(1)
        running.stop.set()
        running.release.set()
        assert running.join()
        assert running.started == _NAMES[:1]
        assert rig.controller.workers_alive() == 0
        assert rig.controller.outcomes.statistics() == (1, 0, 0)


def test_a_stop_does_not_wait_for_ever_for_a_sync_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the shutdown timeout run returns and reports that a worker is still busy."""
    with (
        captured_logs() as logs,
        FooRig(shutdown_timeout_seconds=0.05) as rig,
        _Running(rig, monkeypatch, workers=1) as running,
    ):
        rig.queue.add(EXAMPLE)
        running.wait_for_syncs(1)
        running.stop.set()
        assert running.join()
        assert rig.controller.workers_alive() == 1
    assert ("Workers did not end in time", 1) in [(entry["event"], entry.get("workers")) for entry in logs]


def test_a_stop_before_the_caches_are_filled_is_an_error() -> None:
    """Workers do not start on half a cache."""
    stop = threading.Event()
    stop.set()
    with FooRig() as rig, captured_logs() as logs:
        with pytest.raises(CachesNotSyncedError, match="failed to wait for caches to sync"):
            rig.controller.run(2, stop)
        assert rig.queue.shutting_down()
    assert [entry["event"] for entry in logs] == [
        "Starting Foo controller",
        "Waiting for informer caches to sync",
    ]


# pure functions


def test_many_failing_foos_share_a_bucket() -> None:
    """50 retries a second over all, after a burst of 300."""
    limiter = default_rate_limiter(FakeClock())
    for number in range(300):
        limiter.when(ObjectName("default", str(number)))
    assert limiter.when(ObjectName("default", "late")) == pytest.approx(0.02)
