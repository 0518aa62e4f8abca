"""Plays faults in a process's views of the cluster, which are its watches and reads."""

from __future__ import annotations

from typing import Any, Final

from handloop_explore.cluster import VirtualCluster
from handloop_sandbox.faults.injection import Injection

BLIND_SECONDS: Final = 30.0
REWOUND_SECONDS: Final = 10.0
BEHIND_SECONDS: Final = 60.0


class Views:
    """
    One process's views of the cluster.

    State: _past, the version before the process's last write, which a rewound view shows.
    """

    def __init__(self, cluster: VirtualCluster, agent: str) -> None:
        """Args: agent: the process's User-Agent."""
        self._cluster = cluster
        self._agent = agent
        self._past = self._before = cluster.version
        self._mine: dict[str, Any] = {"user_agent": agent}

    def wrote(self) -> None:
        """Record that the process has written."""
        self._past, self._before = self._before, self._cluster.version

    def strike(self, what: str) -> None:
        """Strike the process's open watches. The strikes `behind` and `lease-slow` affect all processes."""
        if what == "rewound":
            self._strike("expired", only_open=True)
            self._rewind()
        else:
            # `stale` also affects watches that are opened later.
            self._strike(what, **({} if what == "stale" else {"only_open": True}))

    def strike_opening(self, what: str) -> None:
        """Strike the next watch that opens or, with `rewound`, the next read."""
        faults = self._cluster.sandbox.faults
        if what == "rewound":
            self._rewind(count=1)
        elif what == "lost":
            faults.lose_answer(verbs=["watch"], count=1, **self._mine)
        elif what.isdecimal():
            faults.error(int(what), verbs=["watch"], count=1, **self._mine)
        else:
            self._strike(what, count=1)

    def _strike(self, what: str, **which: Any) -> None:
        faults, where = self._cluster.sandbox.faults, {**self._mine, **which}
        match what:
            case "stale":
                faults.delay_watches(None, seconds=BLIND_SECONDS, **where)
            case "silent":
                faults.delay_watches(None, **where)
            case "missed":
                held = faults.delay_watches(None, **where)
                self._cluster.later("views", BLIND_SECONDS, lambda: self._expire(held))
            case "cut":
                faults.drop_watches("cut", **where)
            case "expired":
                faults.expire(**where)
            case "garbled":
                faults.distort_watches("garble", **where)
            case "lease-slow":
                verbs = ("get", "create", "update")
                faults.silence(verbs=verbs, resources=["leases"], executed=False, seconds=BLIND_SECONDS)
            case "behind":
                agents = self._agent.partition("/")[0] + "*"
                faults.lag(seconds=BEHIND_SECONDS, user_agent=agents)
            case "twice":
                faults.distort_watches("repeat", seconds=BLIND_SECONDS, **where)

    def _expire(self, held: Injection) -> None:
        """Drop the delayed watch events, and end the watches because their history is gone."""
        self._cluster.sandbox.faults.expire(only_open=True, **self._mine)
        held.clear()

    def _rewind(self, **which: Any) -> None:
        changes = self._cluster.version - self._past
        self._cluster.sandbox.faults.lag(
            changes, consistent_reads=True, seconds=REWOUND_SECONDS, **self._mine, **which
        )
