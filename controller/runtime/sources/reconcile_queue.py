"""
The queue of one controller. It stores names with their causes, delays and priorities.

Names from the initial list and from resyncs have a lower priority; ageing keeps them from waiting forever. A
failed name is queued again after a back-off. If a reconcile returns a requeue_after, its name is queued again
after that time. A name that failed permanently is queued again only when an object changes. A resync is not a
change, so it does not shorten a back-off, even if the back-off is longer than the resync period.
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
"""The maximum number of causes that are stored per name. Further causes are only counted."""


NONE: Final[frozenset[str]] = frozenset()
"""No versions."""

Marks = tuple[tuple[float, str], ...]
"""The start and the reason of each wait of a name, oldest first; () if tracing is off."""


class Cause(NamedTuple):
    """
    One reason to reconcile a name.

    Fields: subject and verb form the label, such as `Deployment updated` or `requeue`. There are only a few
    different labels. detail is, for example, an object's name or `after 30s`. is_resync is true if the object
    has not changed. trace is the span whose write caused the watch event, or the span of the previous
    reconcile, or None if neither is known.
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
    """
    The causes that a worker takes from the queue.

    If causes is empty, due_at is when the name is due, or None if it is not scheduled.
    """

    causes: tuple[Cause, ...]
    due_at: float | None = None
    marks: Marks = ()


class Causes:
    """
    Stores the causes of every waiting name, merged per name until a worker takes them.

    State, under _lock: _pending maps each name to its causes, in order. If a cause is about nothing but
    status updates, it is mapped to the object versions that they created, otherwise to None. _more maps a
    name to the number of causes that were not stored. _scheduled maps a name to when it is due (a value
    returned by Clock.now()), and to the cause that it will then have. _own maps a name to the object versions
    that its last reconcile wrote before it failed. _marks maps a name to the waits of its pending causes.

    A name with pending causes is in the queue, or is about to be added to it. The same is true of a scheduled
    name once it is due, unless a worker is about to take it.
    Threads: usable from any thread.
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
        Store the causes of a name. Call this before the name is queued, so that its worker finds the causes.

        Args: version is the object's version if only its status changed, otherwise "".
        Returns: whether the causes were stored. Resyncs are not stored while the name backs off. An update is
        not stored if it only reports a status that the name's last reconcile wrote before it failed.
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
                    # Drop a resync if there is one. The change must remain, because schedule drops the
                    # causes of a name that has only resyncs.
                    resync = next((each for each in kept if each.is_resync), None)
                    if cause.is_resync or resync is None:
                        continue
                    del kept[resync]
                known = kept.get(cause, frozenset())
                kept[cause] = known | {version} if version and known is not None else None
            return True

    def failed(self, name: ObjectName, own: frozenset[str]) -> None:
        """
        Record that a reconcile failed, and ignore the updates that its own status writes cause.

        Args: own contains the resource versions that those status writes returned.
        """
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
        """Record that a reconcile succeeded."""
        with self._lock:
            self._own.pop(name, None)

    def schedule(self, name: ObjectName, due_at: float, cause: Cause) -> None:
        """
        Store when a name is due, in place of an earlier time.

        The name's worker calls this before it adds the name to the queue with a delay.
        """
        with self._lock:
            self._scheduled[name] = (due_at, cause)
            # A resync during the failed reconcile must not cause an immediate retry.
            if self._backs_off_locked(name) and not _news(self._pending.get(name, ())):
                for each in (self._pending, self._more, self._marks):
                    each.pop(name, None)

    def _backs_off_locked(self, name: ObjectName) -> bool:
        scheduled = self._scheduled.get(name)
        return scheduled is not None and scheduled[1].subject == RETRY

    def standing(self, name: ObjectName) -> tuple[tuple[Cause, ...], tuple[float, Cause] | None]:
        """Return a name's waiting causes, and when and why its next scheduled reconcile is due, or None."""
        with self._lock:
            pending = _with_rest(tuple(self._pending.get(name, ())), self._more.get(name, 0))
            return pending, self._scheduled.get(name)

    def have_work(self, name: ObjectName) -> bool:
        """Like ReconcileQueue.has_work."""
        with self._lock:
            return name in self._pending or self._waits_locked(name)

    def wait(self, name: ObjectName) -> bool:
        """Return whether a reconcile is scheduled after an error or a WaitError."""
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
        """Forget a name. If it is still in the queue, its worker finds no causes and has nothing to do."""
        with self._lock:
            for each in (self._pending, self._more, self._scheduled, self._own, self._marks):
                each.pop(name, None)

    def take(self, name: ObjectName, now: float) -> Taken:
        """
        Remove and return all causes of a name.

        A scheduled cause that is not due yet is removed only if there are other causes. Their reconcile then
        decides when to schedule the next one.
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
    """Return the cause of the reconcile that the current reconcile schedules."""
    return Cause(subject, detail=detail, trace=TRACING.sampled() if TRACING.on else None)


def default_rate_limiter() -> RateLimiter[ObjectName]:
    """Return a per-name back-off without a token bucket, like controller-runtime's for its priority queue."""
    return ItemExponentialFailureRateLimiter()


class Standing(NamedTuple):
    """
    The state of a name in its queue.

    Fields: causes are those that wait for a worker. due_in is the number of seconds until the next scheduled
    reconcile, and due is its cause; both are None if none is scheduled. failures is the number of consecutive
    failures. gave_up is true if the name failed permanently and is reconciled only after a change.
    """

    causes: tuple[Cause, ...]
    due_in: float | None
    due: Cause | None
    failures: int
    gave_up: bool


class ReconcileQueue:
    """
    A queue of names with causes.

    For each name, a worker calls get and take, then park, settle, requeue, retry or give_up, and then done.
    State, under _lock: _given_up contains the names that failed permanently and have not changed since.
    _causes and _queue have their own locks. A cause is always stored before its name is queued.
    Threads: listeners add names; workers call the other methods, each for the name that it is working on.
    """

    def __init__(
        self,
        options: QueueOptions,
        *,
        rate_limiter: RateLimiter[ObjectName] | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        """Args: decisions, if given, records which causes are ignored, and why."""
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
        Queue a name. A resync is ignored if the name failed permanently or is backing off.

        A status update is ignored if the name's last reconcile wrote that status and then failed.
        Args: version is as in Causes.add.
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
        """Return all names that are waiting or scheduled for later."""
        return self._causes.names()

    def wake(self, name: ObjectName, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Queue a parked name, so that a worker checks now whether it must still wait."""
        self._queue.add(name, priority=priority)

    def get(self) -> ObjectName:
        """
        Remove and return the next name.

        Raises: ShutDown if the queue has been shut down. Blocks: until a name is available.
        """
        return self._queue.get()

    def take(self, name: ObjectName) -> tuple[Cause, ...]:
        """Remove and return the causes of a name after get, or () if an earlier reconcile has taken them."""
        return self.taken(name).causes

    def taken(self, name: ObjectName) -> Taken:
        """Remove and return the causes of a name, like take, together with its waits."""
        taken = self._causes.take(name, self._clock.now())
        if taken.due_at is not None:
            # The name was woken without a cause, which replaced the delayed add. Add it again.
            seconds = taken.due_at - self._clock.now()
            if TRACE.on:
                self._tell_wait(name, seconds, "it is due later")
            self._queue.add_after(name, seconds)
        return taken

    def park(
        self, name: ObjectName, causes: tuple[Cause, ...], seconds: float, why: str = "", marks: Marks = ()
    ) -> None:
        """
        Park a name with its causes, for example because a cache does not reflect the name's own writes yet.

        The name is queued again after the given seconds, or when wake is called.
        Args: marks contains the earlier waits, as returned by taken. park adds the wait that starts now, for
        the reason why.
        """
        if TRACE.on:
            self._tell_wait(name, seconds, "a cache does not have its last sync's writes yet")
        if TRACING.on and (not marks or marks[-1][1] != why):
            marks += self._marks(why)
        self._causes.add(name, causes, marks=marks)
        self._queue.add_after(name, seconds)

    def settle(self, name: ObjectName) -> None:
        """Record that a reconcile succeeded."""
        self._queue.forget(name)
        self._causes.settled(name)
        self._set_given_up(name, given_up=False)

    def requeue(
        self, name: ObjectName, seconds: float, why: str = "requeue", *, priority: int | None = None
    ) -> None:
        """
        Schedule another reconcile after one that succeeded and requested it.

        Args: why is "wait" after a WaitError. If priority is None, the name keeps its current priority.
        """
        self.settle(name)
        if TRACE.on:
            self._tell_wait(name, seconds, handled_error())
        self._later(name, seconds, _follows(why, f"after {seconds:g}s"), priority)

    def retry(
        self, name: ObjectName, reason: str, *, at_least_seconds: float = 0.0, own: frozenset[str] = NONE
    ) -> float:
        """
        Queue a name again after a failed reconcile, after a back-off of at least at_least_seconds.

        Args: reason is one word, such as the name of the error's class; own is as in Causes.failed.
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
        Record that a reconcile failed permanently, so that only a change, not a resync, causes another one.

        Args: own is as in Causes.failed.
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
        """Drop all names for which gone is true: those waiting, scheduled, or permanently failed."""
        with self._lock:
            given_up = tuple(self._given_up)
        for name in (*given_up, *self._causes.names()):
            if gone(name):
                self.drop(name)
                if not gone(name):
                    # The object was recreated meanwhile, and the cause for that may have been dropped, too.
                    self.add(name, Cause("object", "came"))

    def done(self, name: ObjectName) -> None:
        """Record that a worker has finished with a name. If it was added meanwhile, queue it again."""
        self._queue.done(name)

    def num_requeues(self, name: ObjectName) -> int:
        """Return how often a name has failed since its last success."""
        return self._queue.num_requeues(name)

    def has_work(self, name: ObjectName) -> bool:
        """Return whether a reconcile is due after a change, an error or a WaitError."""
        return self._causes.have_work(name)

    def comes_back(self, name: ObjectName) -> bool:
        """Return whether a name's last reconcile failed or raised a WaitError."""
        return self.num_requeues(name) > 0 or self._causes.wait(name)

    def depths(self) -> Mapping[int, int]:
        """
        Return the number of queued names per priority.

        A name that was added again during its own reconcile is also counted.
        """
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
