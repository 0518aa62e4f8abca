"""Spans of a controller that is written by hand: a sync, what it asked of the server, and how it ended."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan

from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox
from support.rigs.traced import Spans, own, parent, traced


def with_result(spans: Spans, result: str) -> list[ReadableSpan]:
    return [each for each in spans.named("sync foo") if (each.attributes or {}).get("result") == result]


def test_a_sync_is_a_span_above_its_requests_that_knows_its_end() -> None:
    """The first creates the Deployment and fails at the status; a later one writes that."""
    cluster = ManagedSandbox(Foo)
    cluster.sandbox.faults.error(500, resources=["foos/status"], verbs=["patch"], count=1)
    manager = cluster.manager()
    add_foo(manager, workers=1)
    cluster.foo("a")
    with traced() as spans, captured_logs():
        with cluster.running(manager):
            # a retry may come before the watch has delivered the Deployment; that sync waits
            settled = eventually(lambda: with_result(spans, "settled"), "a sync that settled")[0]
        first = spans.named("sync foo")[0]
        below = {each.name: parent(each) for each in spans.named("")}
    assert (first.attributes or {}) == {
        "controller": "foo",
        "kind": "Foo",
        "namespace": "default",
        "name": "a",
        "result": "failed",
        "changes": "deployments.apps default/a created",
        "error": (first.attributes or {})["error"],
    }
    assert "500" in str((first.attributes or {})["error"])
    assert (settled.attributes or {})["changes"] == "foos.samplecontroller.k8s.io default/a status patched"
    assert below["create deployments.apps"] == own(first).span_id
