"""A reconcile as a span: which trace it goes on with, what it follows, and for what it waited."""

from __future__ import annotations

from typing import Any

import pytest
import structlog
from opentelemetry.trace import SpanKind

from handloop.apis.apps_v1 import Deployment
from handloop.controller.runtime.reconcile import ReconcileError, Result, TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import ObjectName
from handloop.seams.tracing import SpanContext
from support.builders.deployments import deployment
from support.checks.captured_logs import captured_logs
from support.rigs.reconcile_rig import NAME, UPDATED, ReconcileRig, Script
from support.rigs.traced import OTHERS, THEIRS, links, own, parent, seconds, traced

BROUGHT = UPDATED._replace(trace=THEIRS)
MORE = Cause("Service", "added", "default/a", trace=OTHERS)
BEFORE = Cause("requeue", trace=OTHERS)


def ending(end: Any) -> Script:
    """A reconcile that returns or raises this once, and then settles."""
    ends = [end]

    def script(_name: ObjectName, _context: Context) -> Any:
        now = ends.pop() if ends else None
        if isinstance(now, Exception):
            raise now
        return now

    return script


@pytest.mark.parametrize(
    ("causes", "annotation", "goes_on", "follows"),
    [
        ([UPDATED], None, "", []),
        ([BROUGHT], None, THEIRS.span_id, []),
        ([BROUGHT, UPDATED], THEIRS, THEIRS.span_id, []),
        ([BROUGHT, MORE], None, "", [THEIRS.span_id, OTHERS.span_id]),
        ([BROUGHT, BEFORE], None, THEIRS.span_id, [OTHERS.span_id]),
        ([BEFORE], None, "", [OTHERS.span_id]),
        ([UPDATED], THEIRS, "", [THEIRS.span_id]),
    ],
)
def test_it_goes_on_with_the_one_trace_that_an_event_has_just_brought(
    causes: list[Cause], annotation: SpanContext | None, goes_on: str, follows: list[str]
) -> None:
    """All others are links: a trace that a loop of reconciles went on with would have no end."""
    rig = ReconcileRig()
    rig.controller._annotations = lambda _name: {"traceparent": str(annotation or "")}
    with traced() as spans:
        for cause in causes:
            rig.queue.add(NAME, cause)
        rig.work()
    (made,) = spans.named("reconcile")
    assert (parent(made), links(made)) == (goes_on, follows)


ENDS: list[tuple[Any, dict[str, str], str]] = [
    (None, {"result": "settled"}, ""),
    (Result(requeue_after=5), {"result": "settled"}, ""),
    (WaitError("for the Job"), {"result": "waits", "waitsFor": "for the Job"}, ""),
    (ReconcileError("no quota"), {"result": "failed", "error": "no quota"}, "no quota"),
    (TerminalError("no such image"), {"result": "gave up", "error": "no such image"}, "no such image"),
]


@pytest.mark.parametrize(("end", "facts", "why"), ENDS)
def test_its_attributes_are_those_of_the_log_and_the_record(
    end: Any, facts: dict[str, str], why: str
) -> None:
    """The span says of a reconcile what the log and the record of decisions do, in the same words."""
    rig = ReconcileRig(ending(end))
    with traced() as spans:
        rig.change()
    (made,) = spans.named("reconcile rig")
    assert made.kind is SpanKind.CONSUMER
    assert made.attributes == {
        "controller": "rig",
        "kind": "Foo",
        "namespace": "default",
        "name": "a",
        "reconcileID": "id-0",
        **facts,
    }
    assert (made.status.description or "") == why
    assert [each.attributes for each in made.events] == [{"cause": "Deployment default/a updated"}]


@pytest.mark.parametrize(("end", "pause"), [(Result(requeue_after=5), 5), (ReconcileError("no"), 0.005)])
def test_a_requeue_and_a_retry_follow_the_reconcile_before(end: Any, pause: float) -> None:
    """By a link: nobody's trace grows with it."""
    rig = ReconcileRig(ending(end))
    with traced() as spans:
        rig.queue.add(NAME, BROUGHT)
        rig.work()
        rig.pass_time(pause)
    first, second = spans.named("reconcile")
    assert (parent(second), links(second)) == ("", [own(first).span_id])


def test_its_waits_are_those_of_the_queue_and_for_its_own_write() -> None:
    """From the first cause to the first worker; and from there until the cache had the write."""
    rig = ReconcileRig(lambda _name, context: context.wrote(deployment("child", 20)))
    rig.mirror.put(deployment("child", 10))
    with traced() as spans:
        rig.change()
        rig.script = lambda _name, _context: None
        rig.queue.add(NAME, UPDATED)
        rig.clock.advance(2)
        rig.work()  # parked
        rig.clock.advance(1)
        rig.change()  # parked again, for the same
        rig.mirror.put(deployment("child", 20))
        rig.clock.advance(0.5)
        rig.own_writes.observed(Deployment.resource.group_resource, ObjectName("default", "child"))
        rig.work()
    waits = [(each.name, seconds(each)) for each in spans.named("") if not each.name.startswith("reconcile")]
    assert waits == [
        ("queue", 0.0),
        ("queue", 2.0),
        ("a cache lacks what its last reconcile wrote", 1.5),
    ]


def test_a_name_that_is_due_waits_from_then_on() -> None:
    """A back-off is no wait of the queue."""
    rig = ReconcileRig(ending(Result(requeue_after=5)))
    with traced() as spans:
        rig.change()
        rig.clock.advance(6)
        rig.pass_time(0)
    assert [seconds(each) for each in spans.named("queue")] == [0.0, 1.0]


def test_every_line_of_it_names_its_span() -> None:
    """Those of its author, and the one about how it ended."""

    def script(_name: ObjectName, context: Context) -> None:
        context.log.info("step")
        raise ReconcileError("no")

    rig = ReconcileRig(script)
    with traced() as spans, captured_logs(structlog.contextvars.merge_contextvars) as logs:
        rig.change()
    (made,) = spans.named("reconcile")
    ids = [(each["traceID"], each["spanID"]) for each in logs if each.get("reconcileID")]
    assert len(ids) == 3
    assert set(ids) == {(own(made).trace_id, own(made).span_id)}


def test_its_time_is_measured_with_an_exemplar() -> None:
    """So a slow bucket leads to a trace."""
    rig = ReconcileRig(lambda _name, _context: None)
    with traced() as spans:
        rig.change()
    (made,) = spans.named("reconcile")
    found = [
        sample.exemplar.labels
        for family in rig.registry.collect()
        for sample in family.samples
        if family.name == "controller_runtime_reconcile_time_seconds" and sample.exemplar
    ]
    assert found == [{"trace_id": own(made).trace_id, "span_id": own(made).span_id}]


def test_without_a_tracer_nothing_is_kept_for_one() -> None:
    """Neither since when a name waits, nor what it follows."""
    rig = ReconcileRig(lambda _name, _context: Result(requeue_after=5))
    rig.change()
    scheduled = rig.queue.standing(NAME).due
    assert scheduled == Cause("requeue", detail="after 5s")
    rig.queue.add(NAME, UPDATED)
    assert rig.queue.taken(NAME).marks == ()
