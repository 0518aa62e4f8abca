"""
Traces each reconcile as a span, together with its causes, its waits and its requests.

Callers check `TRACING.on` first, so that a process without a tracer pays only for that attribute test. Our
tracer, handloop/seams/otel_tracer.py, passes all spans to OpenTelemetry. The tracer is imported only if
OpenTelemetry is set up.
Decision: Traces need only a tracer provider.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple, Protocol

ANNOTATIONS: Final = ("tracing.k8s.io/traceparent", "traceparent")
"""
Annotations in which a client stores its trace context when it writes an object.

KEP-5915 proposes the first name. The second one is the most common.
"""

_TRACEPARENT: Final = re.compile(
    r"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL
)
_VERSION: Final = "00"
_LONGEST: Final = 512


class SpanContext(NamedTuple):
    """A span's identity: its trace ID and span ID in hexadecimal. As a string it is a traceparent."""

    trace_id: str
    span_id: str
    sampled: bool

    def __str__(self) -> str:
        return f"{_VERSION}-{self.trace_id}-{self.span_id}-{self.sampled:02x}"


def parse_traceparent(text: str) -> SpanContext | None:
    """
    Return the trace context in a traceparent, which any client may have written, or None if it is invalid.

    Follows: W3C Trace Context, which allows only lower case, and no all-zero IDs. If the version is later
    than 00, only the fields of version 00 are read.
    """
    found = _TRACEPARENT.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == _VERSION and more is not None:
        return None
    return SpanContext(trace_id, span_id, bool(int(flags, 16) & 1))


def annotated(annotations: Mapping[str, str]) -> SpanContext | None:
    """Return the trace context that a writer stored in an object's annotations."""
    return next(
        (found for key in ANNOTATIONS if (found := parse_traceparent(annotations.get(key, "")))), None
    )


class Wait(NamedTuple):
    """A wait of a name for its reconcile. began and ended are in seconds before the reconcile's start."""

    what: str
    began: float
    ended: float


class Work(NamedTuple):
    """
    A reconcile that is about to start.

    Fields: facts are the span's attributes; causes describe why the reconcile runs; parent is the span whose
    write triggered the reconcile; links are other spans that led to the reconcile, such as the span of the
    previous reconcile; waits are the periods in which the name waited, oldest first.
    """

    name: str
    facts: Mapping[str, str]
    causes: tuple[str, ...] = ()
    parent: SpanContext | None = None
    links: tuple[SpanContext, ...] = ()
    waits: tuple[Wait, ...] = ()


class Span(Protocol):
    """An open span. It is its thread's current span until the end of its block."""

    def tell(self, facts: Mapping[str, str | int], *, failed: str = "") -> None:
        """
        Set the facts that are known when the span ends.

        Args: failed is the reason for a failure, or "" if there was none.
        """


class Tracer(Protocol):
    """Creates spans. Its methods never raise or block. Threads: usable from any thread."""

    def reconcile(self, work: Work) -> AbstractContextManager[Span]:
        """Return a span for a reconcile."""

    def request(
        self, name: str, facts: Mapping[str, str | int], headers: dict[str, str]
    ) -> AbstractContextManager[Span]:
        """
        Open a span for a request if this thread has a span.

        Args: headers receives the headers that propagate the span.
        """

    def current(self) -> SpanContext | None:
        """Return the span of this thread."""


class NoTracer:
    """Creates no spans. A thread uses this tracer if it read `on` just before tracing stopped."""

    def reconcile(self, *_: object) -> AbstractContextManager[Span]:
        """See Tracer."""
        return nullcontext(self)

    request = reconcile

    def current(self) -> None:
        """See Tracer."""

    def tell(self, *_: object, **_more: object) -> None:
        """See Span."""


NO_TRACER: Final = NoTracer()


class Tracing:
    """
    The tracer of this process.

    State: on is true while a tracer is set; tracer is that tracer, or else NO_TRACER.
    Threads: any thread can read the state.
    """

    __slots__ = ("on", "tracer")

    def __init__(self) -> None:
        self.on = False
        self.tracer: Tracer = NO_TRACER

    def start(self, tracer: Tracer) -> None:
        """Trace from now on."""
        self.tracer = tracer
        self.on = True

    def stop(self) -> None:
        """Stop tracing."""
        self.on = False
        self.tracer = NO_TRACER

    def sampled(self) -> SpanContext | None:
        """Return this thread's span, or None if it is not sampled, because its ID could not be looked up."""
        found = self.tracer.current()
        return found if found is not None and found.sampled else None

    def ids(self) -> dict[str, str]:
        """Return the ids that identify the span in log lines."""
        found = self.sampled()
        return {} if found is None else {"traceID": found.trace_id, "spanID": found.span_id}

    def exemplar(self) -> dict[str, str] | None:
        """Return the labels that identify the span in a metric."""
        found = self.sampled()
        return None if found is None else {"trace_id": found.trace_id, "span_id": found.span_id}


TRACING: Final = Tracing()
"""The process has only one of these objects, because it has only one tracer provider."""
