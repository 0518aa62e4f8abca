"""Who leads, as `/readyz?verbose` says it: a standby is ready, and says that it waits."""

from __future__ import annotations

from collections.abc import Callable

from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.serving.health import Check, Well


def election_state(statistics: Callable[[], ElectionStatistics]) -> Check:
    """`leader`, or `standby, holder=...`: both are ready, or a rollout would wait for ever."""

    def check() -> Well:
        seen = statistics()
        return Well("leader" if seen.leading else f"standby, holder={seen.holder or 'nobody'}")

    return check
