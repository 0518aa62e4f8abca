"""
Every crash point of a controller, explored: it needs the extra `explore`.

    explore(Workload(set_up, [applied(SITE), deleted(SITE)])).check()
"""

from handloop.testing.explore.exploration import Exploration, explore
from handloop.testing.explore.generated import generated
from handloop.testing.explore.report import Failure, Report
from handloop.testing.explore.workload import (
    Invariant,
    Step,
    Workload,
    applied,
    changed,
    deleted,
    invariant,
    settled,
)

__all__ = [
    "Exploration",
    "Failure",
    "Invariant",
    "Report",
    "Step",
    "Workload",
    "applied",
    "changed",
    "deleted",
    "explore",
    "generated",
    "invariant",
    "settled",
]
