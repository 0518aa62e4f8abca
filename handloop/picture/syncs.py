"""Derives from the steps what the workers did and are doing: get(), the result of the sync, and done()."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from handloop.picture.recorder import Step

GET: Final = 8
_FORGET_OR_ADD_RATE_LIMITED: Final = 11
DONE: Final = 12


class Sync(NamedTuple):
    """
    One sync of a key by a worker.

    outcome is `ok`, `failed` or `waits`, or "" if it is unknown. reason is the error, or why the sync waits.
    retry_seconds is the time until the next try, or None. began is the `seq` of the step that got the key.
    began_at and ended_at are on the same clock as a step's `at`; ended_at is None if done() was not called.
    left is true if the thread has gone on to another key without calling done().
    """

    queue: str
    key: str
    thread: str
    began: int
    began_at: float
    outcome: str = ""
    reason: str = ""
    retry_seconds: float | None = None
    ended_at: float | None = None
    left: bool = False


def syncs(steps: Iterable[Step]) -> list[Sync]:
    """Return the syncs that start in these steps, ordered by when they ended. Unfinished ones are last."""
    # Keys are (thread, queue), because hand-written controllers have the same thread names.
    under_way: dict[tuple[str, str], Sync] = {}
    left: dict[tuple[str, str], Sync] = {}
    ended = []
    for step in steps:
        worker = (step.thread, step.component)
        if step.number == GET:
            if (before := under_way.get(worker)) is not None:
                left[before.queue, before.key] = before._replace(left=True)
            under_way[worker] = Sync(step.component, step.key, step.thread, step.seq, step.at)
            continue
        if step.number == DONE:
            left.pop((step.component, step.key), None)
        sync = under_way.get(worker)
        if sync is None or sync.key != step.key:
            continue
        if step.number == _FORGET_OR_ADD_RATE_LIMITED:
            under_way[worker] = sync._replace(**_outcome(step.facts))
        elif step.number == DONE:
            ended.append(under_way.pop(worker)._replace(ended_at=step.at))
    return [*ended, *left.values(), *under_way.values()]


def _outcome(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a sync that a step (11) sets. If a sync has several, the last one counts."""
    if "forgotten" in facts:
        return {"outcome": "ok"}
    if "error" in facts:
        return {"outcome": "failed", "reason": facts["error"], "retry_seconds": facts["seconds"]}
    outcome = "waits" if facts["waits"] else "ok"
    return {"outcome": outcome, "reason": facts["waits"], "retry_seconds": facts["seconds"]}
