"""The number of misfits of a kind."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.definition_metrics import DefinitionMetrics


def test_what_is_not_known_has_no_number() -> None:
    """Also where it was known, and where it never was; another kind keeps its own."""
    registry = CollectorRegistry()
    metrics = DefinitionMetrics(registry)

    def shown(kind: str) -> float | None:
        return registry.get_sample_value("handloop_definition_misfits", {"kind": kind})

    metrics.found("a", 2)
    metrics.found("b", 0)
    metrics.found("c", None)
    assert (shown("a"), shown("b"), shown("c")) == (2.0, 0.0, None)
    metrics.found("a", None)
    assert (shown("a"), shown("b")) == (None, 0.0)
