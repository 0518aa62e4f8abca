"""The tools of a reconcile: on a sandbox without sockets, with caches that are filled by hand."""

from __future__ import annotations

import ast
import inspect
from typing import TypeVar

import pytest
from msgspec.structs import replace

from handloop.apis.conditions import Condition, Conditions
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, FrozenMap, Kind, ObjectMeta
from handloop.client.errors import Conflict, NotFound
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.controller.runtime.reconciling.context import Context
from handloop.kinds.core_v1 import LoadBalancerIngress, LoadBalancerStatus, ServiceStatus
from handloop.kinds.core_v1 import Service as CompleteService
from handloop.testing import FakeClock, RecordedWrites
from support.builders.deployments import deployment
from support.rigs.context_rig import ConfigMap, Tools
from support.rigs.managed_sandbox import post

K = TypeVar("K", bound=Kind)


@pytest.fixture
def tools() -> Tools:
    """No object has been applied yet."""
    return Tools()


def test_the_client_reports_each_accepted_write(tools: Tools) -> None:
    """All verbs; not a read, a dry run or a refusal; the original client reports nothing."""
    maps = tools.context.client.resource(ConfigMap)
    made = maps.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    maps.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="default")), dry_run=True)
    maps.update(replace(made, data=FrozenMap({"x": "1"})))
    maps.patch("a", {"data": {"x": "2"}}, namespace="default")
    maps.get("a", namespace="default")
    maps.delete("a", namespace="default", dry_run=True)
    maps.delete("a", namespace="default")
    with pytest.raises(LookupError):
        maps.delete("a", namespace="default")
    tools.admin.resource(ConfigMap).create(ConfigMap(metadata=ObjectMeta(name="c", namespace="default")))
    assert tools.told == [("create", 201), ("update", 200), ("patch", 200), ("delete", 200)]


def test_a_status_is_written_when_it_changes(tools: Tools) -> None:
    """Once, in the controller's name; not over another client's change; never a status of another kind."""
    service = tools.admin.resource(CompleteService).get("owner", namespace="default")
    mine, other = (LoadBalancerStatus(ingress=(LoadBalancerIngress(ip=f"10.0.0.{n}"),)) for n in (1, 2))
    status = ServiceStatus(load_balancer=mine)
    told = tools.context.update_status(service, status)
    assert told.status == status
    assert tools.context.update_status(told, status) is told
    assert tools.told == [("patch", 200)]
    managers = tools.admin.get_raw("/api/v1/namespaces/default/services/owner")
    assert b'"manager":"greeter"' in managers.replace(b" ", b"")
    with pytest.raises(Conflict):
        tools.context.update_status(service, ServiceStatus(load_balancer=other))
    with pytest.raises(TypeError, match=r"Service\.status: "):
        tools.context.update_status(told, LoadBalancerStatus())
    with pytest.raises(
        TypeError, match=r"Service.status: expected a ServiceStatus, not a dict: write ServiceStatus"
    ):
        tools.context.update_status(told, {"loadBalancer": {}})  # type: ignore[arg-type] # without a type checker


class ReportedStatus(APIStruct):
    """Conditions."""

    conditions: Conditions = ()


class Plain(Kind, group="example.org", version="v1"):
    """A kind without a status."""


class Reported(Kind, group="example.org", version="v1"):
    """A kind whose status has conditions."""

    status: ReportedStatus = ReportedStatus()


def test_conditions_get_the_time_of_the_context_and_the_generation_of_the_object() -> None:
    """Authors hand neither down, and a test sets the time. An author's own values count."""
    clock = FakeClock()
    context = Context(clock=clock)
    up = Condition(type="Ready", status="True", reason="Up")
    old = Condition(type="Old", status="True", reason="Up", observed_generation=2)
    before = Reported(metadata=ObjectMeta(name="a", generation=3))
    conditions = context.set_conditions(before, up, old)
    assert [each.observed_generation for each in conditions] == [3, 2]
    assert {each.last_transition_time for each in conditions} == {"2023-11-14T22:13:20Z"}
    clock.advance(60)
    after = Reported(metadata=before.metadata, status=ReportedStatus(conditions=conditions))
    assert context.set_conditions(after, up, old) is conditions


class SeenStatus(APIStruct):
    """What was observed."""

    observed_generation: int = 0
    size: int = 0


class Seen(Kind, group="example.org", version="v1"):
    """A kind whose status says what was observed."""

    status: SeenStatus = SeenStatus()


def test_the_generation_that_a_status_is_about_is_filled_in() -> None:
    """Whatever it was before; a status of an older generation differs, and one of this costs no request."""
    metadata = ObjectMeta(name="a", namespace="default", generation=3)
    old = Seen(metadata=metadata, status=SeenStatus(observed_generation=-1))
    writes = RecordedWrites(old)
    context = Context(client=writes.client())
    told = context.update_status(old, old.status)
    assert told.status.observed_generation == 3
    assert context.update_status(told, SeenStatus()) is told
    assert [each.verb for each in writes.writes] == ["patch"]


class Told(Kind, group="example.org", version="v1", kind="Plain"):
    """The same kind with a status."""

    status: ServiceStatus = ServiceStatus()


@pytest.mark.parametrize(("defined", "expected"), [(Plain, ReconcileError), (Told, NotFound)])
def test_a_status_that_the_server_does_not_keep_is_reported(
    tools: Tools, defined: type[Kind], expected: type[Exception]
) -> None:
    """Without the subresource the error names it; an object that is gone is a plain NotFound."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    post(tools.sandbox, crds, custom_resource_definition(defined))
    plain = tools.admin.resource(Told).create(Told.named("p", namespace="default"))
    if defined is Told:
        tools.admin.resource(Told).delete("p", namespace="default")
    load_balancer = LoadBalancerStatus(ingress=(LoadBalancerIngress(ip="10.0.0.1"),))
    with pytest.raises(expected) as raised:
        tools.context.update_status(plain, ServiceStatus(load_balancer=load_balancer))
    told = "the server has no status subresource for plains.example.org: install"
    assert (told in str(raised.value)) == (defined is Plain)


def test_an_event_goes_to_the_recorder(tools: Tools) -> None:
    """Normal, unless it is a warning."""
    tools.context.event(tools.owner, "Greeted", "hello")
    tools.context.event(tools.owner, "Failed", "alas", "Warning")
    assert tools.recorder.take() == ["Normal Greeted hello", "Warning Failed alas"]


def test_a_context_can_be_made_for_a_test() -> None:
    """Whoever tests a reconciler needs no controller; a part that is missing is named when it is used."""
    context = Context(causes=("a", "b"))
    context.deadline.check()
    context.wrote(deployment("a"))
    context.deleted(deployment("a"))
    assert repr(context) == "<Context of reconcile, id -, causes a, b>"
    for part in ("client", "recorder"):
        with pytest.raises(RuntimeError, match=rf"Context\({part}=\.\.\.\)"):
            getattr(context, part)
    with pytest.raises(RuntimeError, match=r"Context\(listers=\.\.\.\)"):
        context.lister_for(Service)


def test_writes_of_a_foreign_client_are_reported(tools: Tools) -> None:
    """Both wrote and deleted pass the object on."""
    tools.context.wrote(deployment("a"))
    tools.context.deleted(deployment("b"))
    assert tools.told == [("wrote", "a"), ("deleted", "b")]


def test_the_face_only_hands_on() -> None:
    """What is sent, and whether, is decided in children/ and status_writes."""
    (face,) = (
        each
        for each in ast.parse(inspect.getsource(inspect.getmodule(Context) or Context)).body
        if isinstance(each, ast.ClassDef) and each.name == "Context"
    )
    methods = [each for each in face.body if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
    long = {each.name for each in methods if sum(isinstance(part, ast.stmt) for part in ast.walk(each)) > 9}
    assert not long


def test_for_an_owner_that_is_being_deleted_nothing_is_pruned_and_no_cache_is_read() -> None:
    """A context that was made without caches will do."""
    going = ConfigMap(metadata=ObjectMeta(name="a", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert Context().prune(ConfigMap, keep=(), owner=going) == ()
