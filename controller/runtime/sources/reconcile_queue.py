"""
The queue of one controller: names with their causes, delays and priorities.

The initial list and resyncs wait behind recent changes, with ageing. A failed name returns after a back-off,
a name with a requeue_after returns after that time, and a name that failed permanently waits for a change. A
resync brings no news, so it does not shorten a back-off, even one that is longer than the resync period.
Decision: The last reconcile decides when to look again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from handloop.controller.runtime.sources.decisions import IGNORED, Decisions
from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock
from handloop.seams.step_trace import TRACE, handled_error
from handloop.seams.tracing import TRACING, SpanContext
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY, PriorityQueue
from handloop.workqueue.queue import QueueOptions, QueueStatistics
from handloop.workqueue.rate_limiters import ItemExponentialFailureRateLimiter, RateLimiter

RETRY: Final = "retry"
QUEUED: Final = "queue"
MAX_CAUSES: Final = 10
"""How many causes are kept per name. Further causes are only counted."""


NONE: Final[frozenset[str]] = frozenset()
"""No versions."""

Marks = tuple[tuple[float, str], ...]
"""When each wait of a name began and what it waited for, oldest first; () while nothing is traced."""


class Cause(NamedTuple):
    """
    One reason to reconcile.

    subject and verb form the label, of which there are only a few, such as `Deployment updated` or `requeue`.
    detail is an object's name, or `after 30s`. is_resync means that nothing has changed. trace is the span
    whose write a watch event has delivered, or the span of the previous reconcile; None if unknown.
    """

    subject: str
    verb: str = ""
    detail: str = ""
    is_resync: bool = False
    trace: SpanContext | None = None

    @property
    def label(self) -> str:
        """Return the cause without its detail, for metrics."""
        return f"{self.subject} {self.verb}" if self.verb else self.subject

    def __str__(self) -> str:
        return " ".join(part for part in (self.subject, self.detail, self.verb) if part)


class Taken(NamedTuple):
    """The causes that a worker takes over. Without any, there is nothing to do, or nothing until due_at."""

    causes: tuple[Cause, ...]
    due_at: float | None = None
    marks: Marks = ()


class Causes:
    """
    The causes of every waiting name, merged per name until a worker takes them.

    State, under _lock: _pending, name -> its causes in order, each with the versions of the object that it is
    about, or None if it always applies; _more, how many more causes there were than are kept; _scheduled,
    name -> when it is due, by the clock, and why; _own, name -> the versions that its last reconcile wrote
    before it failed; _marks, name with pending causes -> since when they have waited. A name with pending
    causes is in the queue or about to be added. A name with a scheduled cause is in the queue by the time it
    is due, or about to be added, or a worker is about to take it.
    Threads: any.
    """

    def __init__(self) -> None:
        self._lock = new_lock("Causes._lock", 95)
        self._pending: dict[ObjectName, dict[Cause, frozenset[str] | None]] = {}
        self._own: dict[ObjectName, frozenset[str]] = {}
        self._more: dict[ObjectName, int] = {}
        self._scheduled: dict[ObjectName, tuple[float, Cause]] = {}
        self._marks: dict[ObjectName, Marks] = {}

    def add(self, name: ObjectName, causes: Iterable[Cause], *, version: str = "", marks: Marks = ()) -> bool:
        """
        Call this before the name is added to the queue, so that the worker that gets it finds the causes.

        Args: version is the object's version if only its status is new; if it is "", the causes always apply.
        Returns: False, with nothing added, for resyncs of a name that is backing off, and for the status that
        the name's last reconcile wrote before it failed.
        """
        with self._lock:
            if version and version in self._own.get(name, ()):
                return False
            if self._backs_off_locked(name) and not (causes := _news(causes)):
                return False
            kept = self._pending.setdefault(name, {})
            if marks:
                self._marks[name] = min(marks, self._marks.get(name, marks))
            for cause in causes:
                if cause not in kept and len(kept) >= MAX_CAUSES:
                    self._more[name] = self._more.get(name, 0) + 1
                    # Drop a resync rather than news, because a name with only resyncs can lose all its
                    # causes.
                    resync = next((each for each in kept if each.is_resync), None)
                    if cause.is_resync or resync is None:
                        continue
                    del kept[resync]
                known = kept.get(cause, frozenset())
                kept[cause] = known | {version} if version and known is not None else None
            return True

    def failed(self, name: ObjectName, own: frozenset[str]) -> None:
        """A reconcile failed. The versions that its object got from its status writes cause no reconcile."""
        with self._lock:
            self._own.pop(name, None)
            if not own:
                return
            self._own[name] = own
            kept = self._pending.get(name, {})
            for cause in [each for each, of in kept.items() if of is not None and of <= own]:
                del kept[cause]
            if not kept and name not in self._more:
                self._pending.pop(name, None)
                self._marks.pop(name, None)

    def settled(self, name: ObjectName) -> None:
        """A reconcile succeeded."""
        with self._lock:
            self._own.pop(name, None)

    def schedule(self, name: ObjectName, due_at: float, cause: Cause) -> None:
        """Call this before the delayed add, from the worker that has the name. The last call wins."""
        with self._lock:
            self._scheduled[name] = (due_at, cause)
            # A resync during the reconcile is no reason to repeat at once what has just failed.
            if self._backs_off_locked(name) and not _news(self._pending.get(name, ())):
                for each in (self._pending, self._more, self._marks):
                    each.pop(name, None)

    def _backs_off_locked(self, name: ObjectName) -> bool:
        scheduled = self._scheduled.get(name)
        return scheduled is not None and scheduled[1].subject == RETRY

    def standing(self, name: ObjectName) -> tuple[tuple[Cause, ...], tuple[float, Cause] | None]:
        """Return the waiting causes, and when and why the name is due without another cause."""
        with self._lock:
            pending = _with_rest(tuple(self._pending.get(name, ())), self._more.get(name, 0))
            return pending, self._scheduled.get(name)

    def have_work(self, name: ObjectName) -> bool:
        """Like ReconcileQueue.has_work."""
        with self._lock:
            return name in self._pending or self._waits_locked(name)

    def wait(self, name: ObjectName) -> bool:
        """Return whether a reconcile is due after an error or a WaitError."""
        with self._lock:
            return self._waits_locked(name)

    def _waits_locked(self, name: ObjectName) -> bool:
        scheduled = self._scheduled.get(name)
        return scheduled is not None and scheduled[1].subject != "requeue"

    def names(self) -> set[ObjectName]:
        """Return all names that are waiting or scheduled."""
        with self._lock:
            return {*self._pending, *self._scheduled}

    def drop(self, name: ObjectName) -> None:
        """Forget a name. While it is in the queue, its worker finds nothing to do."""
        with self._lock:
            for each in (self._pending, self._more, self._scheduled, self._own, self._marks):
                each.pop(name, None)

    def take(self, name: ObjectName, now: float) -> Taken:
        """
        Take over all causes of a name.

        If there is any other cause, take the scheduled one as well, because that reconcile decides again.
        """
        with self._lock:
            pending = tuple(self._pending.pop(name, ()))
            more = self._more.pop(name, 0)
            marks = self._marks.pop(name, ()) if self._marks else ()
            scheduled = self._scheduled.get(name)
            if scheduled is None:
                return Taken(_with_rest(pending, more), None, marks)
            due_at, cause = scheduled
            if not pending and now < due_at:
                return Taken((), due_at)
            del self._scheduled[name]
            if TRACING.on and not marks:
                marks = ((due_at, QUEUED),)
            return Taken(_with_rest(pending + ((cause,) if due_at <= now else ()), more), None, marks)


def _news(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    return tuple(cause for cause in causes if not cause.is_resync)


def _with_rest(causes: tuple[Cause, ...], more: int) -> tuple[Cause, ...]:
    return (*causes, Cause("and", "more", f"{more}")) if more else causes


def _follows(subject: str, detail: str) -> Cause:
    """Return the cause of the reconcile that follows the current one."""
    return Cause(subject, detail=detail, trace=TRACING.sampled() if TRACING.on else None)


def default_rate_limiter() -> RateLimiter[ObjectName]:
    """Return the per-name default without a bucket, as in controller-runtime for its priority queue."""
    return ItemExponentialFailureRateLimiter()


class Standing(NamedTuple):
    """
    The state of a name in its queue.

    Fields: causes, which are waiting for a worker; due_in, the seconds until the name is due without another
    cause, None if never, and due, the reason; failures in a row; gave_up, whether only a change causes a
    reconcile.
    """

    causes: tuple[Cause, ...]
    due_in: float | None
    due: Cause | None
    failures: int
    gave_up: bool


class ReconcileQueue:
    """
    A worker calls get, take, then one of park, settle, requeue, retry and give_up, and always done.

    State, under _lock: _given_up, names that failed permanently and have not changed since. _causes and
    _queue have their own locks. A cause is always stored before its name is in the queue.
    Threads: listeners add; workers do the rest, each for the name that it has.
    """

    def __init__(
        self,
        options: QueueOptions,
        *,
        rate_limiter: RateLimiter[ObjectName] | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        """Args: decisions records what is ignored, and why."""
        self._decisions = decisions
        self._clock = options.seams.clock
        self._rate_limiter = default_rate_limiter() if rate_limiter is None else rate_limiter
        self._causes = Causes()
        self._lock = new_lock("ReconcileQueue._lock", 95)
        self._given_up: set[ObjectName] = set()
        self._queue: PriorityQueue[ObjectName] = PriorityQueue(self._rate_limiter, options)

    def add(
        self, name: ObjectName, cause: Cause, *, priority: int = DEFAULT_PRIORITY, version: str = ""
    ) -> None:
        """
        Reconcile a name. A resync of a name that failed permanently, or is backing off, has no effect.

        Args: version as in Causes.add; a status that a failed reconcile wrote has no effect either.
        """
        if self._is_idle_resync(name, cause):
            return
        if self._causes.add(name, (cause,), version=version, marks=self._marks() if TRACING.on else ()):
            self._queue.add(name, priority=priority)
        elif self._decisions is not None and not cause.is_resync:
            self._decisions.note(name, IGNORED, cause.label, by="its own last reconcile wrote it")

    def standing(self, name: ObjectName) -> Standing:
        """Return a snapshot."""
        causes, scheduled = self._causes.standing(name)
        due_in = None if scheduled is None else scheduled[0] - self._clock.now()
        with self._lock:
            gave_up = name in self._given_up
        due = None if scheduled is None else scheduled[1]
        return Standing(causes, due_in, due, self._queue.num_requeues(name), gave_up)

    def names(self) -> set[ObjectName]:
        """Return all names that are waiting, or are due later."""
        return self._causes.names()

    def wake(self, name: ObjectName, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Let a worker look at a parked name again now."""
        self._queue.add(name, priority=priority)

    def get(self) -> ObjectName:
        """
        Take the next name.

        Raises: ShutDown. Blocks: until there is a name.
        """
        return self._queue.get()

    def take(self, name: ObjectName) -> tuple[Cause, ...]:
        """Take the causes of a name after get; () if an earlier reconcile has dealt with them."""
        return self.taken(name).causes

    def taken(self, name: ObjectName) -> Taken:
        """Like take, with the waits of the name."""
        taken = self._causes.take(name, self._clock.now())
        if taken.due_at is not None:
            # A spurious wake-up replaced the delayed add, so the scheduled reconcile is still due.
            seconds = taken.due_at - self._clock.now()
            if TRACE.on:
                self._tell_wait(name, seconds, "it is due later")
            self._queue.add_after(name, seconds)
        return taken

    def park(
        self, name: ObjectName, causes: tuple[Cause, ...], seconds: float, why: str = "", marks: Marks = ()
    ) -> None:
        """
        A cache lacks a name's own writes. Put the name aside with its causes, until wake or for this long.

        Args: marks are those that were taken; the wait that begins now is added to them, with the reason why.
        """
        if TRACE.on:
            self._tell_wait(name, seconds, "a cache lacks what its last sync wrote")
        if TRACING.on and (not marks or marks[-1][1] != why):
            marks += self._marks(why)
        self._causes.add(name, causes, marks=marks)
        self._queue.add_after(name, seconds)

    def settle(self, name: ObjectName) -> None:
        """A reconcile succeeded."""
        self._queue.forget(name)
        self._causes.settled(name)
        self._set_given_up(name, given_up=False)

    def requeue(
        self, name: ObjectName, seconds: float, why: str = "requeue", *, priority: int | None = None
    ) -> None:
        """
        A reconcile succeeded, and asked for another one later.

        Args: why is "wait" after a WaitError. If priority is None, it is the one that the worker's name had.
        """
        self.settle(name)
        if TRACE.on:
            self._tell_wait(name, seconds, handled_error())
        self._later(name, seconds, _follows(why, f"after {seconds:g}s"), priority)

    def retry(
        self, name: ObjectName, reason: str, *, at_least_seconds: float = 0.0, own: frozenset[str] = NONE
    ) -> float:
        """
        A reconcile failed. Bring the name back after a back-off, but not before at_least_seconds.

        Args: reason is a word, such as the class of the error; own as in Causes.failed.
        Returns: the delay in seconds.
        """
        delay = max(self._rate_limiter.when(name), at_least_seconds)
        if TRACE.on:
            self._tell_failure(name, delay)
        self._set_given_up(name, given_up=False)
        self._causes.failed(name, own)
        detail = f"{self._queue.num_requeues(name)} after {reason}"
        self._later(name, delay, _follows(RETRY, detail))
        return delay

    def give_up(self, name: ObjectName, *, own: frozenset[str] = NONE) -> None:
        """
        A reconcile failed permanently. Only a change causes another one; a resync does not.

        Args: own as in Causes.failed.
        """
        self._queue.forget(name)
        self._causes.failed(name, own)
        if TRACE.on:
            self._tell_failure(name, None)
        self._set_given_up(name, given_up=True)

    def drop(self, name: ObjectName) -> None:
        """Forget a name, its causes and its failures."""
        self._causes.drop(name)
        self.settle(name)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Drop all names that are gone, whether they are waiting, scheduled, or failed permanently."""
        with self._lock:
            given_up = tuple(self._given_up)
        for name in (*given_up, *self._causes.names()):
            if gone(name):
                self.drop(name)
                if not gone(name):
                    # The object was recreated, and the cause for that may have been dropped as well.
                    self.add(name, Cause("object", "came"))

    def done(self, name: ObjectName) -> None:
        """Give a name back. If it was added in the meantime, it waits again."""
        self._queue.done(name)

    def num_requeues(self, name: ObjectName) -> int:
        """Return how often a name has failed since its last success."""
        return self._queue.num_requeues(name)

    def has_work(self, name: ObjectName) -> bool:
        """Return whether a change, an error or a WaitError causes a reconcile, not only a requeue_after."""
        return self._causes.have_work(name)

    def comes_back(self, name: ObjectName) -> bool:
        """Return whether the last reconcile of a name failed or raised a WaitError, with no success since."""
        return self.num_requeues(name) > 0 or self._causes.wait(name)

    def depths(self) -> Mapping[int, int]:
        """Return how many names need work, per priority, also those added again while being worked on."""
        return self._queue.depths()

    def __repr__(self) -> str:
        return f"<ReconcileQueue over {self._queue!r}>"

    def statistics(self) -> QueueStatistics:
        """Return a snapshot."""
        return self._queue.statistics()

    def shut_down(self) -> None:
        """Refuse further names, and wake blocked getters. Blocks: until the queue's threads have ended."""
        self._queue.shut_down()

    def _later(self, name: ObjectName, seconds: float, cause: Cause, priority: int | None = None) -> None:
        self._causes.schedule(name, self._clock.now() + seconds, cause)
        self._queue.add_after(name, seconds, priority=priority)

    def _marks(self, what: str = QUEUED) -> Marks:
        return ((self._clock.now(), what),)

    def _tell_wait(self, name: ObjectName, seconds: float, why: str) -> None:
        failures = self._queue.num_requeues(name)
        TRACE.tell(11, self._queue.name, name, seconds=seconds, failures=failures, waits=why)

    def _tell_failure(self, name: ObjectName, seconds: float | None) -> None:
        failures = self._queue.num_requeues(name)
        TRACE.tell(11, self._queue.name, name, seconds=seconds, failures=failures, error=handled_error())

    def _is_idle_resync(self, name: ObjectName, cause: Cause) -> bool:
        if not cause.is_resync:
            return False
        with self._lock:
            return name in self._given_up

    def _set_given_up(self, name: ObjectName, *, given_up: bool) -> None:
        with self._lock:
            if given_up:
                self._given_up.add(name)
            else:
                self._given_up.discard(name)
