"""Why a name is to be reconciled: merged per name until a worker takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from handloop.informers.keys import ObjectName
from handloop.workqueue.locks import new_lock

MAX_CAUSES: Final = 10


class Cause(NamedTuple):
    """
    One reason to reconcile.

    label is a kind of cause, of which there are few: `Deployment updated`, `requeue`; detail says which one:
    an object's name, or `after 30s`. is_resync: nothing has changed.
    """

    subject: str
    verb: str = ""
    detail: str = ""
    is_resync: bool = False

    @property
    def label(self) -> str:
        """Without the detail, for metrics."""
        return f"{self.subject} {self.verb}" if self.verb else self.subject

    def __str__(self) -> str:
        return " ".join(part for part in (self.subject, self.detail, self.verb) if part)


class Taken(NamedTuple):
    """What a worker takes over: causes; none when nothing is to be done, before due_at if there is one."""

    causes: tuple[Cause, ...]
    due_at: float | None = None


class Causes:
    """
    The causes of every name that waits.

    State, under _lock: _pending = name -> its causes in order, and how many more there were than are kept;
    _scheduled = name -> when it is due, as the clock counts, and why. A name with pending causes is in the
    queue or about to be added. A name with a scheduled cause is in the queue by the time it is due, or about
    to be added, or a worker is about to take it.
    Threads: any.
    """

    def __init__(self) -> None:
        self._lock = new_lock("Causes._lock", 95)
        self._pending: dict[ObjectName, dict[Cause, None]] = {}
        self._more: dict[ObjectName, int] = {}
        self._scheduled: dict[ObjectName, tuple[float, Cause]] = {}

    def add(self, name: ObjectName, causes: Iterable[Cause]) -> None:
        """To be called before the name is added to the queue, so that whoever gets it finds them."""
        with self._lock:
            kept = self._pending.setdefault(name, {})
            for cause in causes:
                if cause in kept or len(kept) < MAX_CAUSES:
                    kept[cause] = None
                else:
                    self._more[name] = self._more.get(name, 0) + 1

    def schedule(self, name: ObjectName, due_at: float, cause: Cause) -> None:
        """To be called before the delayed add, by the worker that has the name; the last one counts."""
        with self._lock:
            self._scheduled[name] = (due_at, cause)

    def take(self, name: ObjectName, now: float) -> Taken:
        """
        Take over all causes of a name.

        What is scheduled is taken, too, once something else leads to a reconcile: that decides anew.
        """
        with self._lock:
            pending = tuple(self._pending.pop(name, ()))
            more = self._more.pop(name, 0)
            due_at, cause = self._scheduled.get(name, (None, None))
            if due_at is None or cause is None:
                return Taken(_with_rest(pending, more))
            if not pending and now < due_at:
                return Taken((), due_at)
            del self._scheduled[name]
            return Taken(_with_rest(pending + ((cause,) if due_at <= now else ()), more))


def _with_rest(causes: tuple[Cause, ...], more: int) -> tuple[Cause, ...]:
    return (*causes, Cause("and", "more", f"{more}")) if more else causes
