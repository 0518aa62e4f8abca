"""
Explores every crash point of a controller. Exports the names of handloop_explore, from the extra `explore`.

    explore(Workload(set_up, [applied(SITE), deleted(SITE)])).check()

Raises: ImportError if the extra is not installed. The message contains the command that installs it.
"""

from handloop.controller.cli.extensions import NotInstalledError, needing

try:
    with needing("explore"):
        from handloop_explore import (
            Exploration,
            Failure,
            Invariant,
            Report,
            Step,
            Workload,
            applied,
            changed,
            deleted,
            explore,
            generated,
            invariant,
            settled,
        )
except NotInstalledError as error:
    raise ImportError(f"{__name__}: {error}", name=__name__) from error

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
