"""Objects that do not fit their type, told to whoever made them."""

from __future__ import annotations

from handloop.client.decoding.pages import Undecodable
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.events.fake import FakeRecorder
from handloop.controller.runtime.events.undecodable_reports import UndecodableReports


def test_each_misfit_is_an_event() -> None:
    """A Warning on the object itself, in the words of the decoder."""
    recorder = FakeRecorder(include_object=True)
    reports = UndecodableReports(Foo, recorder)
    reports(Undecodable("default", "a", "7", b'{"metadata":{"uid":"u"}}', "a does not fit"))
    about = "involvedObject{kind=Foo,apiVersion=samplecontroller.k8s.io/v1alpha1}"
    assert recorder.events == [f"Warning InvalidObject a does not fit {about}"]
