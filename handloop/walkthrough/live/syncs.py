"""What the workers did and do, read from the steps: a get, how the sync ended, and the done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from handloop.walkthrough.live.recorder import Step

_GET: Final = 8
_FORGET_OR_ADD_RATE_LIMITED: Final = 11
_DONE: Final = 12


class Sync(NamedTuple):
    """
    One sync.

    outcome is `ok`, `failed`, or "" when neither is known; retry_seconds is until the next try, None = none.
    began_at and ended_at are as the steps' `at`; ended_at None = the worker still has the key.
    """

    queue: str
    key: str
    thread: str
    began_at: float
    outcome: str = ""
    retry_seconds: float | None = None
    ended_at: float | None = None


def syncs(steps: Iterable[Step]) -> list[Sync]:
    """The syncs that begin in these steps, in the order of their ends; those under way last."""
    under_way: dict[str, Sync] = {}
    ended = []
    for step in steps:
        if step.number == _GET:
            under_way[step.thread] = Sync(step.component, step.key, step.thread, step.at)
            continue
        sync = under_way.get(step.thread)
        if sync is None or (sync.queue, sync.key) != (step.component, step.key):
            continue
        if step.number == _FORGET_OR_ADD_RATE_LIMITED and "forgotten" in step.facts:
            under_way[step.thread] = sync._replace(outcome="ok")
        elif step.number == _FORGET_OR_ADD_RATE_LIMITED:
            under_way[step.thread] = sync._replace(outcome="failed", retry_seconds=step.facts["seconds"])
        elif step.number == _DONE:
            ended.append(under_way.pop(step.thread)._replace(ended_at=step.at))
    return ended + list(under_way.values())
