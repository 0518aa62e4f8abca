"""
Creates spans through OpenTelemetry's API. The process's tracer provider decides where they are exported.

No other module imports opentelemetry.
Follows: OpenTelemetry's semantic conventions for HTTP clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final

from opentelemetry import propagate, trace
from opentelemetry.context import Context

from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.tracing import NO_TRACER, Span, SpanContext, Work

log = get_logger("tracing")

_NANOSECONDS: Final = 1_000_000_000
_NOWHERE: Final = Context()
"""A reconcile starts a new trace, even if its thread already has a span."""


class OTelTracer:
    """
    Implements handloop.seams.tracing.Tracer.

    If the application's sampler or span processor raises, the error is logged and the span is lost.
    Threads: any thread may use it.
    """

    def __init__(self, tracer: trace.Tracer, clock: Clock = REAL_CLOCK) -> None:
        self._tracer = tracer
        self._clock = clock

    def reconcile(self, work: Work) -> AbstractContextManager[Span]:
        """See Tracer. Each wait becomes a child span, although it ends before the reconcile's span starts."""
        parent = _NOWHERE if work.parent is None else trace.set_span_in_context(_remote(work.parent))
        return self._span(work.name, trace.SpanKind.CONSUMER, work.facts, parent, work=work)

    def request(
        self, name: str, facts: Mapping[str, str | int], headers: dict[str, str]
    ) -> AbstractContextManager[Span]:
        """See Tracer."""
        if not trace.get_current_span().get_span_context().is_valid:
            return nullcontext(NO_TRACER)
        return self._span(name, trace.SpanKind.CLIENT, facts, None, headers=headers)

    def current(self) -> SpanContext | None:
        """See Tracer."""
        found = trace.get_current_span().get_span_context()
        if not found.is_valid:
            return None
        ids = trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)
        return SpanContext(*ids, found.trace_flags.sampled)

    @contextmanager
    def _span(
        self,
        name: str,
        kind: trace.SpanKind,
        facts: Mapping[str, str | int],
        parent: Context | None,
        *,
        work: Work | None = None,
        headers: dict[str, str] | None = None,
    ) -> Iterator[Span]:
        now = int(self._clock.time() * _NANOSECONDS)
        span: trace.Span = trace.INVALID_SPAN
        with _guarded():
            links = [trace.Link(_remote(each).get_span_context()) for each in (work.links if work else ())]
            span = self._tracer.start_span(name, parent, kind, facts, links, start_time=now)
            if work is not None:
                self._add(work, span, now)
        told = _Told(span)
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            with _guarded():
                if headers is not None and (carried := self.current()):
                    propagate.inject(headers)
                    # Propagate only the sampled flag, because a 1.36 API server ignores a context with any
                    # other flag.
                    headers["traceparent"] = str(carried)
            try:
                yield told
            except BaseException as error:
                told.tell({"error.type": type(error).__name__}, failed=in_words(error))
                raise
            finally:
                with _guarded():
                    span.end()

    def _add(self, work: Work, span: trace.Span, now: int) -> None:
        for cause in work.causes:
            span.add_event("cause", {"cause": cause}, now)
        inside = trace.set_span_in_context(span)
        for what, *times in work.waits:
            began, ended = (now - int(seconds * _NANOSECONDS) for seconds in times)
            self._tracer.start_span(what, inside, start_time=began).end(ended)


class _Told:
    """Implements handloop.seams.tracing.Span."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def tell(self, facts: Mapping[str, str | int], *, failed: str = "") -> None:
        """See Span."""
        with _guarded():
            self._span.set_attributes(facts)
            if failed:
                self._span.set_status(trace.StatusCode.ERROR, failed)


@contextmanager
def _guarded() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - this is foreign code
        with suppress(Exception):
            log.warning("A span is lost", err=in_words(error, repr))


def _remote(context: SpanContext) -> trace.NonRecordingSpan:
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if context.sampled else trace.TraceFlags.DEFAULT)
    ids = int(context.trace_id, 16), int(context.span_id, 16)
    return trace.NonRecordingSpan(trace.SpanContext(*ids, is_remote=True, trace_flags=flags))


def new_tracer() -> OTelTracer | None:
    """Return a tracer from the current provider, or None if no provider is set."""
    provider = trace.get_tracer_provider()
    unset = isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)
    return None if unset else OTelTracer(provider.get_tracer("handloop"))
