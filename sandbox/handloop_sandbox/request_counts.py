"""The sandbox's metrics, with the names that a real API server uses."""

from __future__ import annotations

from collections import Counter
from typing import Final

from handloop_sandbox.storage.state import State

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WATCH"))


class RequestCounts:
    """Counts answered requests by method and status. Unknown methods are counted together as `other`."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()

    def answered(self, method: str, code: int) -> None:
        """Count one answer."""
        self._counts[method if method in _METHODS else "other", code] += 1

    def lines(self) -> list[str]:
        """Return one sample for each method and status."""
        return [
            f'apiserver_request_total{{code="{code}",verb="{method}"}} {count}'
            for (method, code), count in sorted(self._counts.items())
        ]


def exposition(state: State, counts: RequestCounts, *, watches: int) -> str:
    """Return the text of /metrics."""
    lines = [
        "# HELP apiserver_request_total Counter of API server requests answered.",
        "# TYPE apiserver_request_total counter",
        *counts.lines(),
        "# HELP apiserver_longrunning_requests Gauge of open watches.",
        "# TYPE apiserver_longrunning_requests gauge",
        f'apiserver_longrunning_requests{{verb="WATCH"}} {watches}',
        "# HELP apiserver_resource_objects Number of stored objects by resource.",
        "# TYPE apiserver_resource_objects gauge",
        *(
            f'apiserver_resource_objects{{group="{kind.group}",resource="{kind.plural}"}} {state.count(kind)}'
            for kind in sorted(state.group_resources())
        ),
    ]
    return "\n".join(lines) + "\n"
