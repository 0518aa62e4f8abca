"""
Explores every crash point of a controller. Users import these names from handloop.testing.explore.

    explore(Workload(set_up, [applied(SITE), deleted(SITE)])).check()
"""

from handloop_explore.exploration import Exploration, explore
from handloop_explore.generated import generated
from handloop_explore.report import Failure, Report
from handloop_explore.workload import (
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
