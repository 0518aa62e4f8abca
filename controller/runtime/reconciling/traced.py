"""Trace a reconcile as a span, with data from its queue, its Context and the record of decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

import structlog

from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.decisions import FAILED, GAVE_UP, RECONCILES, Decision, Decisions
from handloop.controller.runtime.sources.reconcile_queue import Taken
from handloop.informers.keys import ObjectName
from handloop.seams.tracing import TRACING, SpanContext, Wait, Work, annotated


def work_of(context: Context, kind: str, taken: Taken, annotations: Mapping[str, str], *, now: float) -> Work:
    """
    Return the data for the span of a reconcile that starts at now, a value returned by Clock.now().

    If all watch events that caused the reconcile belong to one trace, the span continues that trace. If they
    belong to several, the span links to them. It also links to the previous reconcile's trace if that
    reconcile requeued the name, and to the trace in the object's annotation. It does not continue those
    traces, so each of them ends, even if reconciles run in an endless loop.
    """
    brought = dict.fromkeys(each.trace for each in taken.causes if each.trace and each.verb)
    parent = next(iter(brought)) if len(brought) == 1 else None
    others = [*brought, *(each.trace for each in taken.causes), annotated(annotations)]
    links: dict[SpanContext, None] = dict.fromkeys(each for each in others if each and each != parent)
    ends = [at for at, _ in taken.marks[1:]] + [now]
    return Work(
        f"reconcile {context.controller}",
        {
            "controller": context.controller,
            "kind": kind,
            "namespace": context.name.namespace,
            "name": context.name.name,
            "reconcileID": context.id,
        },
        context.causes,
        parent,
        tuple(links),
        tuple(Wait(what, now - at, now - end) for (at, what), end in zip(taken.marks, ends, strict=False)),
    )


def outcome_of(line: Decision) -> tuple[dict[str, str | int], str]:
    """Return the attributes to add to a span at its end, and the error text, which is "" on success."""
    failed = line.text if line.what in (FAILED, GAVE_UP) else ""
    facts = {"changes": line.changes, "error": failed, "waitsFor": "" if failed else line.text}
    return {"result": line.what, **{key: text for key, text in facts.items() if text}}, failed


def sync_span(
    controller: str, kind: str, name: ObjectName, decisions: Decisions
) -> AbstractContextManager[None]:
    """
    Open a span around a sync of a controller written by hand, if tracing is on.

    The span has no causes and waits, because the queue of such a controller does not record them. The last
    entry in decisions says how the sync ended.
    """
    return _sync_span(controller, kind, name, decisions) if TRACING.on else nullcontext()


@contextmanager
def _sync_span(controller: str, kind: str, name: ObjectName, decisions: Decisions) -> Iterator[None]:
    facts = {"controller": controller, "kind": kind, "namespace": name.namespace, "name": name.name}
    with (
        TRACING.tracer.reconcile(Work(f"sync {controller}", facts)) as span,
        structlog.contextvars.bound_contextvars(**TRACING.ids()),
    ):
        yield
        ended = [line for line in decisions.of(name) if line.what in RECONCILES]
        if ended:
            outcome, failed = outcome_of(ended[-1])
            span.tell(outcome, failed=failed)
