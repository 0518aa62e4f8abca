"""Events of the MyApp controller: each new thing once."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from handloop.apis.apps_v1 import DeploymentCondition
from handloop.controller.myapp.status import new_status, report
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.controller.runtime.reconciling.context import Context
from handloop.testing.fake_clock import FakeClock
from support.builders.myapp_builders import deployment_of, new_app
from support.rigs.myapp_rig import MyAppRig

NOW = 1_700_000_000.0


class Story:
    """A MyApp whose status changes, and the events about it."""

    def __init__(self) -> None:
        self.recorder = FakeRecorder()
        self.context = Context(recorder=self.recorder, clock=FakeClock(unix=NOW))
        self.app: MyApp = new_app(replicas=2)

    def sees(self, *failures: str, ready: int = 2, trouble: str = "") -> Sequence[str]:
        """The next status is written; returns the events."""
        said = (
            (DeploymentCondition(type="ReplicaFailure", status="True", message=trouble),) if trouble else ()
        )
        deployment = deployment_of(self.app, ready_replicas=ready, conditions=said)
        status = new_status(self.app, deployment, self.context, failures)
        report(self.app, status, failures, self.context)
        self.app = replace(self.app, status=status)
        return self.recorder.take()


def test_a_failure_is_reported_once() -> None:
    """However often it repeats, and with any other joining it; another one is reported by itself."""
    story = Story()
    assert story.sees("Service: taken") == ["Warning ReconcileError Service: taken"]
    assert story.sees("Service: taken", ready=1) == []
    assert story.sees("Service: taken", "Deployment: no") == ["Warning ReconcileError Deployment: no"]
    assert story.sees("Deployment: no") == []


def test_the_beginning_of_a_deployments_trouble_is_reported() -> None:
    """Once, though its words change with every pod that it fails to make; and so is the end."""
    story = Story()
    assert story.sees(ready=1) == []
    told = story.sees(ready=1, trouble='pods "a-x" is forbidden: exceeded quota')
    assert told == ['Warning ReconcileError Deployment: pods "a-x" is forbidden: exceeded quota']
    assert story.sees(ready=1, trouble='pods "a-y" is forbidden: exceeded quota') == []
    assert story.sees(ready=1) == ["Normal ReconcileSuccess No step fails any more"]


def test_recovery_and_readiness_are_reported() -> None:
    """When a MyApp is Degraded no more, and when it becomes Ready."""
    story = Story()
    assert story.sees(ready=1) == []
    ready = "Normal DeploymentReady Ready replicas: 2"
    assert story.sees() == [ready]
    assert story.sees() == []
    assert story.sees("Service: taken") == ["Warning ReconcileError Service: taken"]
    assert story.sees() == ["Normal ReconcileSuccess No step fails any more", ready]


def test_a_service_that_was_written_is_reported() -> None:
    """With what it has become, and again when it becomes something else."""
    rig = MyAppRig()
    rig.create_app(port=9000, serviceType="NodePort")
    rig.sync()
    assert rig.events() == ["Normal ServiceReady Service is a NodePort on port 9000"]
    rig.sync()
    assert rig.events() == []
    rig.set_spec(port=80)
    rig.sync()
    assert rig.events() == ["Normal ServiceReady Service is a NodePort on port 80"]
