"""Reports of the Foo controller to people: Events on a Foo, and log lines."""

from __future__ import annotations

import msgspec

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import OwnerReference
from support.builders.foo_builders import new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.rigs.foo_rig import FooRig


def _reference(name: str, version: str) -> ObjectReference:
    return ObjectReference(kind="Foo", namespace="default", name=name, resource_version=version)


def test_a_foo_is_reported_invalid_once_per_resource_version() -> None:
    """A version is reported once, by event and by log; a new version or another Foo is reported again."""
    with FooRig() as rig, captured_logs() as logs:
        for name, version in (("a", "1"), ("a", "1"), ("b", "1"), ("a", "2"), ("a", "2"), ("b", "1")):
            rig.controller._report_invalid(_reference(name, version), "Foo is wrong", f"{name} {version}")
    assert rig.recorder.events == [
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
    """The user reads it in the event, the operator in the log with owner and fix; the error has it, too."""
    foo = new_foo()
    deployment = new_deployment(foo)
    owner = OwnerReference(api_version="v1", kind="Other", name="them", uid="1", controller=True)
    metadata = msgspec.structs.replace(deployment.metadata, owner_references=(owner,))
    with FooRig() as rig, captured_logs() as logs:
        error = rig.controller._report_foreign(foo, msgspec.structs.replace(deployment, metadata=metadata))
    message = 'Resource "example-foo-deployment" already exists and is not managed by Foo'
    assert str(error) == message
    assert rig.recorder.events == [f"Warning ErrResourceExists {message}"]
    assert logs == [
        {
            "event": "default/example-foo-deployment exists and is not managed by Foo default/example-foo",
            "log_level": "warning",
            "code": "E14",
            "cause": "owner: Other them",
            "fix": "delete it or change spec.deploymentName",
        }
    ]
