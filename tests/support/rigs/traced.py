"""A tracer of OpenTelemetry's SDK in memory, as ours; and how its spans read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id

from handloop.seams.otel_tracer import OTelTracer
from handloop.seams.tracing import TRACING, SpanContext

THEIRS = SpanContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", sampled=True)
OTHERS = SpanContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", sampled=True)


class Spans:
    """Those that have ended, oldest first."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    def named(self, start: str) -> list[ReadableSpan]:
        return [each for each in self.exporter.get_finished_spans() if each.name.startswith(start)]

    def names(self) -> list[str]:
        return [each.name for each in self.exporter.get_finished_spans()]


@contextmanager
def traced(*processors: SpanProcessor) -> Iterator[Spans]:
    """Trace by a provider that keeps what is sampled, and hands it to these processors first."""
    spans, provider = Spans(), TracerProvider(shutdown_on_exit=False)
    for each in (*processors, SimpleSpanProcessor(spans.exporter)):
        provider.add_span_processor(each)
    TRACING.start(OTelTracer(provider.get_tracer("handloop")))
    try:
        yield spans
    finally:
        TRACING.stop()
        provider.shutdown()


def own(span: ReadableSpan) -> SpanContext:
    """Its name."""
    assert span.context is not None
    ids = format_trace_id(span.context.trace_id), format_span_id(span.context.span_id)
    return SpanContext(*ids, span.context.trace_flags.sampled)


def parent(span: ReadableSpan) -> str:
    """The id of the span above it, "" = it begins a trace."""
    return "" if span.parent is None else format_span_id(span.parent.span_id)


def links(span: ReadableSpan) -> list[str]:
    """The ids of the spans that it follows."""
    return [format_span_id(link.context.span_id) for link in span.links]


def seconds(span: ReadableSpan) -> float:
    """How long it took."""
    assert span.start_time is not None
    assert span.end_time is not None
    return round((span.end_time - span.start_time) / 1e9, 3)
