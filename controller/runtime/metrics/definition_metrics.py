"""The metric handloop_definition_misfits: whether the server's definitions fit the program's types."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.instruments import Instruments


class DefinitionMetrics:
    """The gauge handloop_definition_misfits, with the label kind: `myapps.example.com/v1`. Threads: one."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Raises: ValueError for a registry that already has this gauge."""
        self._new = Instruments(registry, "handloop", "kind")
        self._misfits = self._new.gauge(
            "definition_misfits",
            "Number of places where a kind's served definition does not fit the type; absent if unknown",
        )

    def found(self, kind: str, misfits: int | None) -> None:
        """Report the result of a check; None means unknown."""
        if misfits is None:
            self._new.forget(kind)
        else:
            self._misfits.labels(kind).set(misfits)
