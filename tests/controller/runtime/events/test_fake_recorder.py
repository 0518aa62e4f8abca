from __future__ import annotations

from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from support.builders.foo_builders import new_foo


def test_the_object_and_annotations_follow_when_asked_for() -> None:
    """The object's kind is shown with include_object, annotations whenever there are some."""
    recorder = FakeRecorder(include_object=True)
    recorder.event(new_foo(), "Normal", "Synced", "ok", annotations={"b": "2", "a": "1"})
    assert recorder.events == [
        "Normal Synced ok involvedObject{kind=Foo,apiVersion=samplecontroller.k8s.io/v1alpha1} map[a:1 b:2]"
    ]


def test_an_object_without_reference_is_left_out() -> None:
    """Something that cannot be referred to adds nothing to the line."""
    recorder = FakeRecorder(include_object=True)
    recorder.event(None, "Normal", "Synced", "ok")
    assert recorder.events == ["Normal Synced ok"]
