"""What a bad value leaves behind once it is taken back: nothing. And what odd, but good ones lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloop.apis.apps_v1 import Deployment
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.workload import Step, applied, changed, settled
from support.builders.bad_values import BAD, SPECS
from support.builders.workloads import FOO, MYAPP, foo_workload, myapp_workload
from support.rigs.myapp_rig import CRDS, MyAppRig
from support.rigs.myapp_scenes import CHILDREN, FULL, READY, container_of
from support.rigs.myapp_scenes import settled as settled_rig

OBJECTS: Final[dict[type[Kind], dict[str, Any]]] = {Foo: FOO, MyApp: MYAPP}
WORKLOADS: Final = {Foo: foo_workload, MyApp: myapp_workload}
KINDS: Final = pytest.mark.parametrize("kind", [Foo, MyApp], ids=["foo", "myapp"])
MORE: Final[dict[type[Kind], dict[str, Sequence[Any]]]] = {
    Foo: {"deploymentName": ("", " ", "Not_A_Name", "x" * 254, None)},
    MyApp: {"image": (None,)},
}
"""What a server takes, or where nothing is given."""


def loosened(kind: type[Kind]) -> Step:
    """The definition takes any spec, as that of an earlier release might."""
    path = f"{CRDS}/{custom_resource_definition(kind)['metadata']['name']}"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

    def do(cluster: Any) -> None:
        (version,) = cluster.send("GET", path)["spec"]["versions"]
        version |= {"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
        cluster.send("PATCH", path, {"spec": {"versions": [version]}})

    return Step("loosen the definition", do)


def spoilt_and_mended(kind: type[Kind]) -> Iterator[Step]:
    """Each bad value in its turn, each taken back a little later."""
    good = OBJECTS[kind]["spec"]
    for values in (BAD[kind], MORE[kind]):
        for field, those in values.items():
            for value in those:
                yield changed(OBJECTS[kind], {"spec": {field: value}})
                yield changed(OBJECTS[kind], {"spec": {field: good.get(field)}})
                yield settled()
    for spec in (None, *SPECS):
        yield changed(OBJECTS[kind], {"spec": spec})
        yield changed(OBJECTS[kind], {"spec": good})
        yield settled()


@KINDS
def test_after_every_bad_value_all_is_as_before(kind: type[Kind]) -> None:
    """Each field, each bad value that an older definition let in, and the way back, with no other step."""
    steps = [loosened(kind), applied(OBJECTS[kind]), settled(), *spoilt_and_mended(kind)]
    played = play(WORKLOADS[kind](*steps), Plan())
    first, *later = (state.objects for state in played.states)
    assert first
    assert [number for number, state in enumerate(later) if state != first] == []
    # a bad value costs a status and an Event, and no attempt after attempt
    assert (played.died, played.busy, len(played.writes) <= 3 * len(later)) == ("", 0, True)


def test_a_status_that_was_edited_by_hand_is_right_again_with_one_write() -> None:
    """The conditions that stayed keep the time of their transition."""
    rig = settled_rig()
    before = rig.raw(MyApp)["status"]
    begin = len(rig.transport.writes)
    conditions = [c | {"message": "mine"} for c in before["conditions"][:2]]
    rig.change(MyApp, {"status": {"readyReplicas": 77, "conditions": conditions}}, subresource="status")
    rig.clock.advance(3600)
    rig.settle()
    after = rig.raw(MyApp)["status"]
    assert rig.writes_since(begin) == [("PATCH", "myapps/a/status")]
    assert (rig.conditions(), after["readyReplicas"]) == (READY, 2)
    kept = {c["type"]: c["lastTransitionTime"] for c in after["conditions"]}
    was = {c["type"]: c["lastTransitionTime"] for c in before["conditions"]}
    assert [name for name in was if was[name] != kept[name]] == [before["conditions"][2]["type"]]


TEXTS: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=25)
@given(TEXTS, st.sampled_from(["\x00", "\n", "\u202e", "🦊", "é", ""]))
def test_any_text_reaches_the_child_as_it_is(text: str, odd: str) -> None:
    """Emoji, writing from right to left, NUL and newlines: byte for byte, and no difference is seen later."""
    rig = RIG
    rig.set_spec(env=[{"name": "TEXT", "value": odd + text}])
    assert rig.sync() is None
    (variable,) = container_of(rig.raw(Deployment))["env"]
    assert variable.get("value", "") == odd + text
    begin = len(rig.transport.writes)
    assert rig.sync() is None
    assert "deployments/a" not in {target for _, target in rig.writes_since(begin)}


RIG: Final = MyAppRig()
RIG.create_app()


def test_a_foo_whose_name_is_no_label_gets_no_deployment() -> None:
    """Of 63 characters it has one; of 64 the server refuses its label, which is reported, and not retried."""
    longest, longer = ({**FOO, "metadata": {"name": "n" * count}} for count in (63, 64))
    longer = {**longer, "spec": {**FOO["spec"], "deploymentName": "b"}}
    played = play(foo_workload(applied(longest), applied(longer), settled()), Plan())
    assert {key for key in played.states[-1].objects if key.startswith("Deployment")} == {
        "Deployment default/a"
    }
    assert [write.status for write in played.writes].count(422) == 1


def test_fields_that_we_do_not_know_stay() -> None:
    """Those of a later version of the definition, in spec, labels and annotations, through every write."""
    definition = custom_resource_definition(MyApp)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["tomorrow"] = {"type": "string"}
    rig = MyAppRig(definition=definition)
    rig.create_app(tomorrow="x", metadata={"annotations": {"note": "mine"}, "finalizers": ["example.com/a"]})
    rig.settle()
    rig.set_spec(replicas=3)
    rig.settle()
    after = rig.raw(MyApp)
    assert (after["spec"]["tomorrow"], after["metadata"]["annotations"]) == ("x", {"note": "mine"})
    assert after["metadata"]["finalizers"] == ["example.com/a"]


def test_a_child_that_the_server_refuses_is_degraded_with_the_field() -> None:
    """A request above its limit: 422 with the path; the Service is made all the same; mended, it recovers."""
    rig = MyAppRig()
    rig.create_app(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})
    for _ in range(3):
        assert "resources.requests" in str(rig.sync())
    assert rig.conditions()["Degraded"] == ("True", "ReconcileError")
    assert "resources.requests" in rig.message("Degraded")
    warnings = [event for event in rig.events() if event.startswith("Warning")]
    assert len(warnings) == 1
    assert [rig.exists(kind) for kind in CHILDREN[:2]] == [False, True]
    rig.set_spec(resources=None)
    rig.settle()
    assert rig.conditions() == READY


def test_children_stay_in_the_namespace_and_get_no_rights() -> None:
    """Whatever a MyApp's author writes: no account, no volume, nothing of the host, no security settings."""
    rig = settled_rig(**FULL)
    for kind in CHILDREN:
        assert rig.raw(kind)["metadata"]["namespace"] == rig.raw(MyApp)["metadata"]["namespace"]
    spec = rig.raw(Deployment)["spec"]["template"]["spec"]
    defaults = {"dnsPolicy", "restartPolicy", "schedulerName", "terminationGracePeriodSeconds"}
    assert spec.keys() - defaults == {"containers", "securityContext"}
    assert spec["securityContext"] == {}
    assert "securityContext" not in container_of(rig.raw(Deployment))
