"""Spans as OpenTelemetry gets them: whose they are, when they were, and what foreign code may not break."""

from __future__ import annotations

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

from handloop.seams.tracing import TRACING, SpanContext, Wait, Work
from support.checks.captured_logs import captured_logs
from support.rigs.traced import OTHERS, THEIRS, links, own, parent, seconds, traced

WORK = Work("reconcile myapp", {"name": "a"})


def test_waits_are_children_with_the_times_that_they_had() -> None:
    """They are over when the reconcile begins, so they come before it, and do not make it longer."""
    waits = (Wait("queue", 5.0, 3.0), Wait("own write", 3.0, 0.0))
    with traced() as spans, TRACING.tracer.reconcile(WORK._replace(waits=waits)):
        pass
    queue, write, made = spans.named("")
    assert {parent(queue), parent(write)} == {own(made).span_id}
    assert [seconds(queue), seconds(write)] == [2.0, 3.0]
    assert queue.end_time == write.start_time
    assert write.end_time == made.start_time


@pytest.mark.parametrize("sampled", [True, False])
def test_it_goes_on_with_a_trace_as_that_is_sampled(sampled: bool) -> None:
    """Of a trace that its beginner does not keep, nothing is kept here either, nor named in logs."""
    headers: dict[str, str] = {}
    work = WORK._replace(parent=THEIRS._replace(sampled=sampled), links=(OTHERS,))
    with traced() as spans, TRACING.tracer.reconcile(work), TRACING.tracer.request("get foos", {}, headers):
        assert bool(TRACING.ids()) is bool(TRACING.exemplar()) is sampled
    assert headers["traceparent"].startswith(f"00-{THEIRS.trace_id}-")
    assert headers["traceparent"].endswith(f"-0{sampled:d}")
    made = spans.named("reconcile")
    assert [(own(each).trace_id, parent(each), links(each)) for each in made] == [
        (THEIRS.trace_id, THEIRS.span_id, [OTHERS.span_id])
    ] * sampled


def test_a_request_is_a_span_in_that_of_its_thread_alone() -> None:
    """The header carries the request's span to the server; a list for a cache has neither."""
    outside: dict[str, str] = {}
    inside: dict[str, str] = {}
    with traced() as spans:
        with TRACING.tracer.request("list foos", {}, outside):
            pass
        with TRACING.tracer.reconcile(WORK), TRACING.tracer.request("get foos", {"a": 1}, inside) as span:
            span.tell({"b": 2})
    request, made = spans.named("")
    assert outside == {}
    assert inside == {"traceparent": str(own(request))}
    assert (request.kind, request.attributes) == (SpanKind.CLIENT, {"a": 1, "b": 2})
    assert parent(request) == own(made).span_id


def test_an_error_goes_through_and_is_told() -> None:
    """The span ends all the same."""
    with traced() as spans, pytest.raises(KeyError), TRACING.tracer.reconcile(WORK):
        raise KeyError("name")
    (made,) = spans.named("reconcile")
    assert (made.status.status_code, made.attributes) == (
        StatusCode.ERROR,
        {"name": "a", "error.type": "KeyError"},
    )


class Broken(SpanProcessor):
    """An author's, with a mistake."""

    def __init__(self, *, at_end: bool) -> None:
        self.at_end = at_end

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if not self.at_end:
            raise ZeroDivisionError

    def on_end(self, span: ReadableSpan) -> None:
        if self.at_end:
            raise ZeroDivisionError


@pytest.mark.parametrize("at_end", [True, False])
def test_foreign_code_costs_spans_alone(at_end: bool) -> None:
    """A reconcile and its requests run, whatever a span processor raises."""
    ran: list[SpanContext | None] = []
    with traced(Broken(at_end=at_end)), captured_logs() as logs, TRACING.tracer.reconcile(WORK) as span:
        with TRACING.tracer.request("get foos", {}, {}):
            ran.append(TRACING.tracer.current())
        span.tell({"result": "settled"}, failed="why")
    assert [each is not None for each in ran] == [at_end]
    assert {each["event"] for each in logs} == {"A span is lost"}
