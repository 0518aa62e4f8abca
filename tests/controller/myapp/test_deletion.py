"""The MyApp controller on a sandbox: MyApps that go, and their statuses meanwhile."""

from __future__ import annotations

from handloop.apis.core_v1 import Service
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.reconcile import DONE, ReconcileError
from support.rigs.myapp_rig import NAMESPACE, MyAppRig
from support.rigs.myapp_scenes import CHILDREN, DELETING, FULL, settled, somebodys


def test_a_myapp_that_goes_gets_nothing() -> None:
    """One that is gone has nothing written, one that is being deleted its status, once, but no child."""
    rig = MyAppRig()
    assert rig.sync("never") is None
    assert rig.reconcile("never") is DONE
    rig.create_app(metadata={"finalizers": ["example.com/wait"]})
    rig.delete(MyApp)
    for _ in range(3):
        rig.sync_caches()
        assert rig.reconcile() is DONE
    assert rig.writes_since(0) == [("PATCH", "myapps/a/status")]
    assert rig.conditions() == DELETING


def test_the_status_of_a_myapp_that_goes_follows_its_children() -> None:
    """Held by a finalizer, deleted in the foreground: not Ready at once, with the counts as seen."""
    rig = settled(**FULL)
    rig.change(MyApp, {"metadata": {"finalizers": ["example.com/wait"]}})
    options = {"propagationPolicy": "Foreground"}
    rig.call("DELETE", MyApp.resource.path(namespace=NAMESPACE, name="a"), options)
    assert rig.sync() is None
    status = rig.raw(MyApp)["status"]
    assert rig.conditions() == DELETING
    assert rig.message("Ready") == "The MyApp is being deleted"
    assert (status["readyReplicas"], status["observedGeneration"]) == (2, 2)
    rig.pass_time(60)
    assert not any(rig.exists(kind) for kind in CHILDREN)
    begin = len(rig.transport.writes)
    rig.settle()
    assert rig.writes_since(begin) == [("PATCH", "myapps/a/status")]
    status = rig.raw(MyApp)["status"]
    assert (status.get("readyReplicas", 0), status.get("availableReplicas", 0)) == (0, 0)
    assert rig.conditions() == DELETING
    assert rig.events() == []
    rig.sync_caches()
    rig.change(MyApp, {"metadata": {"finalizers": None}})
    assert not rig.exists(MyApp)
    assert rig.reconcile() is DONE


def test_a_myapp_that_goes_records_no_event() -> None:
    """Its namespace may take none: not even that what had failed fails no more."""
    rig = MyAppRig()
    rig.create(Service, somebodys(Service))
    rig.create_app(metadata={"finalizers": ["example.com/wait"]})
    assert isinstance(rig.sync(), ReconcileError)
    rig.delete(MyApp)
    assert rig.sync() is None
    assert rig.conditions() == DELETING
    assert [event.split()[:2] for event in rig.events()] == [["Warning", "ReconcileError"]]


def test_a_myapp_that_has_gone_unseen_while_it_was_being_deleted_is_done() -> None:
    """Its status is wanted no more."""
    rig = settled(replicas=1)
    rig.change(MyApp, {"metadata": {"finalizers": ["example.com/wait"]}})
    rig.delete(MyApp)
    rig.sync_caches()
    rig.change(MyApp, {"metadata": {"finalizers": None}})
    begin = len(rig.transport.writes)
    assert rig.reconcile() is DONE
    assert rig.writes_since(begin) == [("PATCH", "myapps/a/status")]


def test_children_go_with_their_myapp() -> None:
    """Garbage collection takes them by their owner references."""
    rig = settled(**FULL)
    rig.delete(MyApp)
    rig.pass_time(60)
    assert not any(rig.exists(kind) for kind in CHILDREN)
