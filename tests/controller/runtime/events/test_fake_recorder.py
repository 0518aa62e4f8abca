from __future__ import annotations

from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.controller.runtime.events.recorder import EventRecorder
from support.builders.foo_builders import new_foo


def test_events_are_lines_of_text() -> None:
    """Each event is `<type> <reason> <message>`, in order."""
    recorder = FakeRecorder()
    typed: EventRecorder = recorder
    typed.event(new_foo(), "Normal", "Synced", "Foo synced successfully")
    typed.event(new_foo(), "Warning", "ErrResourceExists", "taken")
    assert recorder.events == ["Normal Synced Foo synced successfully", "Warning ErrResourceExists taken"]


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


def test_take_empties_the_recorder() -> None:
    """An Event that was taken is not given again."""
    recorder = FakeRecorder()
    recorder.event(new_foo(), "Normal", "Synced", "one")
    assert recorder.take() == ["Normal Synced one"]
    recorder.event(new_foo(), "Normal", "Synced", "two")
    assert recorder.take() == ["Normal Synced two"]
    assert recorder.events == []
