"""Objects that do not fit their type, told to whoever made them."""

from __future__ import annotations

from apis.samplecontroller_v1alpha1 import Foo
from client.decoding.pages import Undecodable
from controller.runtime.events.fake import FakeRecorder
from controller.runtime.events.undecodable_reports import UndecodableReports


def misfit(name: str) -> Undecodable:
    """A Foo that does not fit."""
    return Undecodable("default", name, "7", b'{"metadata":{"uid":"u"}}', f"{name} does not fit")


def test_each_misfit_is_an_event() -> None:
    """A Warning on the object itself, in the words of the decoder."""
    recorder = FakeRecorder(include_object=True)
    reports = UndecodableReports(Foo, recorder)
    reports.start()
    reports(misfit("a"))
    about = "involvedObject{kind=Foo,apiVersion=samplecontroller.k8s.io/v1alpha1}"
    assert recorder.events == [f"Warning InvalidObject a does not fit {about}"]


def test_a_standby_is_silent_until_it_leads() -> None:
    """What was found before the start is reported at the start, once."""
    recorder = FakeRecorder()
    reports = UndecodableReports(Foo, recorder)
    reports(misfit("a"))
    reports(misfit("b"))
    assert recorder.take() == []
    reports.start()
    assert [line.split()[2] for line in recorder.take()] == ["a", "b"]
    reports.start()
    assert recorder.take() == []


def test_a_flood_of_misfits_is_bounded() -> None:
    """A thousand are remembered, more would only fill the memory."""
    recorder = FakeRecorder()
    reports = UndecodableReports(Foo, recorder)
    for i in range(1200):
        reports(misfit(str(i)))
    reports.start()
    assert len(recorder.events) == 1000
