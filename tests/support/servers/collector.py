"""A collector of spans on loopback: OTLP over gRPC, as kube-apiserver, etcd and every SDK send them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

_SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"


class Collected(NamedTuple):
    """A span, with its ids in hexadecimal digits; parent "" = it begins a trace."""

    name: str
    trace_id: str
    span_id: str
    parent: str
    links: tuple[str, ...]


class Collector:
    """State: the spans so far, under _lock. Threads: those of gRPC add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[Collected] = []

    def named(self, start: str) -> list[Collected]:
        with self._lock:
            return [each for each in self._spans if each.name.startswith(start)]

    def export(self, request: Any, _context: object) -> Any:
        found = [
            Collected(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                tuple(link.span_id.hex() for link in span.links),
            )
            for of in request.resource_spans
            for scope in of.scope_spans
            for span in scope.spans
        ]
        with self._lock:
            self._spans += found
        return ExportTraceServiceResponse()


@contextmanager
def collector(port: int) -> Iterator[Collector]:
    """Serve on a port."""
    made, server = Collector(), grpc.server(ThreadPoolExecutor(2))
    take = grpc.unary_unary_rpc_method_handler(
        made.export,
        request_deserializer=ExportTraceServiceRequest.FromString,
        response_serializer=ExportTraceServiceResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Export": take}),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield made
    finally:
        server.stop(None).wait()
