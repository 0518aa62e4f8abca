from __future__ import annotations

import msgspec

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import OwnerReference
from handloop.controller.foo.reports import FooReporter
from handloop.controller.runtime.events.fake import FakeRecorder
from support.captured_logs import captured_logs
from support.foo_builders import new_deployment, new_foo


def _reference(name: str, version: str) -> ObjectReference:
    return ObjectReference(kind="Foo", namespace="default", name=name, resource_version=version)


def test_a_foo_is_reported_invalid_once_per_resource_version() -> None:
    """The same version is said once, by event and by log; a new version or another Foo is said again."""
    recorder = FakeRecorder()
    reporter = FooReporter(recorder)
    with captured_logs() as logs:
        for name, version in (("a", "1"), ("a", "1"), ("b", "1"), ("a", "2"), ("a", "2"), ("b", "1")):
            reporter.invalid(_reference(name, version), "Foo is wrong", f"{name} {version}")
    assert recorder.events == [
        "Warning InvalidObject a 1",
        "Warning InvalidObject b 1",
        "Warning InvalidObject a 2",
    ]
    assert [(entry["event"], entry["err"]) for entry in logs] == [
        ("Foo is wrong", "a 1"),
        ("Foo is wrong", "b 1"),
        ("Foo is wrong", "a 2"),
    ]


def test_a_foreign_deployment_is_an_event_a_warning_and_an_error() -> None:
    """The user reads it in the event, the operator in the log with owner and fix; the error says it, too."""
    recorder = FakeRecorder()
    foo = new_foo()
    deployment = new_deployment(foo)
    owner = OwnerReference(api_version="v1", kind="Other", name="them", uid="1", controller=True)
    metadata = msgspec.structs.replace(deployment.metadata, owner_references=(owner,))
    with captured_logs() as logs:
        error = FooReporter(recorder).foreign(foo, msgspec.structs.replace(deployment, metadata=metadata))
    message = 'Resource "example-foo-deployment" already exists and is not managed by Foo'
    assert str(error) == message
    assert recorder.events == [f"Warning ErrResourceExists {message}"]
    assert logs == [
        {
            "event": "default/example-foo-deployment exists and is not managed by Foo default/example-foo",
            "log_level": "warning",
            "code": "E14",
            "cause": "owner: Other them",
            "fix": "delete it or change spec.deploymentName",
        }
    ]


def test_a_synced_foo_is_a_normal_event() -> None:
    """The event has sample-controller's reason and message."""
    recorder = FakeRecorder()
    FooReporter(recorder).synced(new_foo())
    assert recorder.events == ["Normal Synced Foo synced successfully"]
