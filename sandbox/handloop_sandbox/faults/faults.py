"""
Activates, lists and clears a sandbox's faults, and determines their effect on requests and watches.

Each kind of fault has a method that activates it, such as error(). The sandbox's controls do the same over
HTTP. An active fault is an Injection, which stays in `_active` until its count, its time or clear() ends it.
Three methods look up the active faults:

delay() returns how long a request waits. The HTTP server or transport calls it first.
on_request() returns whether a request is refused, left unanswered, or answered from old state. The engine
calls it before the API.
affecting_watch() returns the faults that affect an open watch. WatchOutput calls it before it sends.

The API itself does not refer to faults.
"""

from __future__ import annotations

import builtins
import random
import threading
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, TypeVar, Unpack

from handloop_sandbox.faults import fault as kinds
from handloop_sandbox.faults.fault import (
    Expire,
    Fault,
    Lag,
    Latency,
    LoseAnswer,
    Refusal,
    Silence,
    WatchFault,
)
from handloop_sandbox.faults.injection import Injection
from handloop_sandbox.faults.request_attributes import RequestAttributes
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import StatusError

K = TypeVar("K", bound=Fault)


class LostAnswerError(Exception):
    """Raised when a fault breaks the connection instead of sending an answer."""


class NoAnswerError(Exception):
    """Raised when a fault keeps the connection open but sends no answer."""


class Where(TypedDict, total=False):
    """Keyword arguments: which requests a fault hits, how many, and for how long. See Fault."""

    verbs: Iterable[str]
    resources: Iterable[str]
    namespace: str
    name: str
    user: str
    user_agent: str
    path: str
    skip: int
    count: int | None
    seconds: float | None


class Verdict(NamedTuple):
    """
    The effect of the faults on one request.

    refusal is the error to answer with, if any. up_to is the newest resource version that the request sees;
    None means no limit. lost and silent are the LoseAnswer and Silence faults that hit the request, if any.
    """

    refusal: StatusError | None = None
    lost: LoseAnswer | None = None
    silent: Silence | None = None
    up_to: int | None = None


UNTOUCHED = Verdict()


class Machine(Protocol):
    """The operations that faults need from the engine. Any thread can call them."""

    def now(self) -> float:
        """Unix time."""

    def version(self) -> int:
        """Return the newest resource version."""

    def apply_to_open_watches(self, injection: Injection) -> None:
        """Apply an injected fault to each open watch that it matches."""

    def compact(self, resource_version: int | None = None) -> None:
        """Discard the versions before resource_version (default: the newest)."""

    def expire(self, group_resource: GroupResource | None = None) -> None:
        """Discard the history, so that watches cannot resume from it."""

    def rewind(self, *, changes: int | None = None, resource_version: int | None = None) -> int:
        """Undo the last `changes` changes, or all changes after resource_version."""


class Faults:
    """
    The active faults of one sandbox.

    State: _active maps ids to injections, in the order of activation. revision increases with every
    change of _active, which tells watches to check the faults again. active is true while any fault is
    active. _lock guards all of this. It is a leaf lock.
    Threads: any thread can call the methods.
    """

    def __init__(self, machine: Machine, *, random: random.Random, changed: Callable[[], None]) -> None:
        """Args: changed is called after a change, without holding a lock; watches then check the faults."""
        self._machine = machine
        self._random = random
        self._changed = changed
        self._lock = threading.Lock()
        self._active: dict[str, Injection] = {}
        self._number = 0
        self.revision = 0
        self.active = False

    def error(
        self,
        code: int = 500,
        *,
        retry_after: int | str | None = None,
        reason: str = "",
        message: str = "",
        **where: Unpack[Where],
    ) -> Injection:
        """Answer with an error code."""
        return self._ask(
            kinds.Error, where, code=code, retry_after=retry_after, reason=reason, message=message
        )

    def conflict(self, **where: Unpack[Where]) -> Injection:
        """Answer updates and patches with 409."""
        return self._ask(kinds.Conflict, where)

    def deny(self, **where: Unpack[Where]) -> Injection:
        """Answer requests with 403."""
        return self._ask(kinds.Deny, where)

    def latency(
        self, delay_seconds: float, *, jitter_seconds: float = 0.0, **where: Unpack[Where]
    ) -> Injection:
        """Delay requests before they are carried out."""
        return self._ask(Latency, where, delay_seconds=delay_seconds, jitter_seconds=jitter_seconds)

    def lose_answer(self, *, executed: bool = True, **where: Unpack[Where]) -> Injection:
        """Break the connection instead of answering. By default, only writes are hit."""
        return self._ask(LoseAnswer, where, executed=executed)

    def silence(
        self,
        *,
        after_events: int = 0,
        only_open: bool = False,
        executed: bool = True,
        **where: Unpack[Where],
    ) -> Injection:
        """Keep the connection open, but send no more bytes. By default, only watches are hit."""
        return self._ask(Silence, where, after_events=after_events, only_open=only_open, executed=executed)

    def drop_watches(
        self,
        how: Literal["end", "cut", "reset"] = "end",
        *,
        after_events: int = 0,
        only_open: bool = False,
        **where: Unpack[Where],
    ) -> Injection:
        """End watches normally, cut them off, or reset their connections."""
        return self._ask(kinds.DropWatch, where, how=how, after_events=after_events, only_open=only_open)

    def delay_watches(
        self, delay_seconds: float | None = None, *, only_open: bool = False, **where: Unpack[Where]
    ) -> Injection:
        """Delay watch events by delay_seconds; None delays them until the fault is cleared."""
        return self._ask(kinds.DelayWatch, where, delay_seconds=delay_seconds, only_open=only_open)

    def distort_watches(
        self,
        how: Literal["repeat", "reverse", "lose", "garble"] = "repeat",
        *,
        after_events: int = 0,
        only_open: bool = False,
        **where: Unpack[Where],
    ) -> Injection:
        """Send watch events twice, in the wrong order, not at all, or as garbage."""
        return self._ask(kinds.DistortWatch, where, how=how, after_events=after_events, only_open=only_open)

    def expire(
        self,
        *,
        as_status: bool = False,
        after_events: int = 0,
        only_open: bool = False,
        **where: Unpack[Where],
    ) -> Injection:
        """Answer resumed watches and requests for further pages of lists with 410."""
        return self._ask(Expire, where, as_status=as_status, after_events=after_events, only_open=only_open)

    def lag(
        self, changes: int | None = None, *, consistent_reads: bool = False, **where: Unpack[Where]
    ) -> Injection:
        """Answer reads from an old state."""
        return self._ask(Lag, where, changes=changes, consistent_reads=consistent_reads)

    def compact(self, resource_version: int | None = None) -> None:
        """
        Discard the versions before resource_version (default: the newest), as etcd's compaction does.

        Afterwards, requests for watches, exact lists and further pages from older versions get 410 Expired.
        Open watches continue.
        """
        self._machine.compact(resource_version)
        self._machine.expire()

    def rewind(self, *, changes: int | None = None, resource_version: int | None = None) -> int:
        """
        Undo the last `changes` changes, or all changes after resource_version, as if a backup were restored.

        Every watch ends. New changes use the undone versions a second time. Returns: the version that is now
        the newest. Raises: ValueError if the state at that version is not available, or if not exactly one
        argument is given.
        """
        return self._machine.rewind(changes=changes, resource_version=resource_version)

    def inject(self, fault: Fault) -> Injection:
        """Activate a fault."""
        now, version = self._machine.now(), self._machine.version()
        with self._lock:
            self._number += 1
            injection = Injection(
                fault,
                f"f{self._number}",
                ends_at=None if fault.seconds is None else now + fault.seconds,
                resource_version=version,
                clear=self.clear,
            )
            if not _is_over_at_once(fault):
                self._active[injection.id] = injection
                self._moved_locked()
        if isinstance(fault, WatchFault) and fault.only_open:
            self._machine.apply_to_open_watches(injection)
        self._changed()
        return injection

    def list(self) -> builtins.list[Injection]:
        """Return the active faults, oldest first."""
        now = self._machine.now()
        with self._lock:
            self._end_those_due_locked(now)
            return [*self._active.values()]

    def clear(self, name: str | None = None) -> int:
        """End one fault, or all of them. Returns: how many were ended."""
        with self._lock:
            names = [*self._active] if name is None else [name] if name in self._active else []
            for found in names:
                self._active.pop(found).over = True
            self._moved_locked()
        self._changed()
        return len(names)

    def delay(self, asked: RequestAttributes) -> float:
        """Return how many seconds to delay a request before on_request(). A delay counts as a hit."""
        now = self._machine.now()
        with self._lock:
            self._end_those_due_locked(now)
            seconds = 0.0
            for injection in tuple(self._active.values()):
                fault = injection.fault
                if isinstance(fault, Latency) and self._claim_locked(injection, asked):
                    seconds += fault.delay_seconds + fault.jitter_seconds * self._random.random()
            return seconds

    def on_request(self, asked: RequestAttributes, now: float, version: int) -> Verdict:
        """
        Return the faults' effect on a request that is about to be carried out.

        Args: version is the newest resource version.
        """
        with self._lock:
            self._end_those_due_locked(now)
            verdict = UNTOUCHED
            for injection in tuple(self._active.values()):
                verdict = self._applied_locked(injection, asked, version, verdict)
                if verdict.refusal is not None:
                    break
            return verdict

    def affecting_watch(
        self, asked: RequestAttributes, known: set[str], now: float, *, opening: bool
    ) -> builtins.list[Injection]:
        """
        Return the injections that affect a watch and are not in known. Add the checked ones to known.

        Args: known holds the ids of the injections checked so far. opening is true if the watch has just been
        opened.
        """
        with self._lock:
            self._end_those_due_locked(now)
            found = []
            for injection in tuple(self._active.values()):
                fault = injection.fault
                if not isinstance(fault, WatchFault) or fault.only_open or injection.id in known:
                    continue
                known.add(injection.id)
                if _holds_watch(fault, asked, opening=opening) and self._claim_locked(injection, asked):
                    found.append(injection)
            return found

    def offer(self, injection: Injection, asked: RequestAttributes) -> bool:
        """Return whether an injection affects this watch. Count it as a hit if it does."""
        with self._lock:
            return self._claim_locked(injection, asked)

    def end_those_due(self, now: float) -> None:
        """End the faults whose time is up."""
        with self._lock:
            self._end_those_due_locked(now)

    def next_wake(self) -> float | None:
        """Return the unix time at which the next fault expires, or None if no fault has a time limit."""
        if not self.active:
            return None
        with self._lock:
            ends = [i.ends_at for i in self._active.values() if i.ends_at is not None]
        return min(ends, default=None)

    def _ask(self, kind: type[K], where: Where, **arguments: Any) -> Injection:
        chosen: dict[str, Any] = dict(where)
        for name in ("verbs", "resources"):
            if name in chosen:
                if isinstance(chosen[name], str):
                    raise TypeError(f"{name} must be a list of names, such as [{chosen[name]!r}], not a str")
                chosen[name] = tuple(chosen[name])
        return self.inject(kind(**arguments, **chosen))

    def _applied_locked(
        self, injection: Injection, asked: RequestAttributes, version: int, verdict: Verdict
    ) -> Verdict:
        """Return the verdict with the effect of one more fault added."""
        match injection.fault:
            case Refusal() as fault if self._claim_locked(injection, asked):
                return verdict._replace(refusal=fault.status(asked))
            case LoseAnswer() as fault if self._claim_locked(injection, asked):
                return verdict._replace(lost=fault)
            case Silence() as fault if asked.verb != "watch" and self._claim_locked(injection, asked):
                return verdict._replace(silent=fault)
            case Expire() as fault if _refuses(fault, asked) and self._claim_locked(injection, asked):
                return verdict._replace(refusal=fault.status(asked))
            case Lag() as fault if fault.answers_from_the_past(asked) and self._claim_locked(
                injection, asked
            ):
                return verdict._replace(up_to=injection.newest_visible(version))
        return verdict

    def _claim_locked(self, injection: Injection, asked: RequestAttributes) -> bool:
        claimed = injection.claim(asked)
        if claimed and injection.is_spent and not injection.fault.lasting:
            # The injection is no longer listed, but still affects the watches that it has hit.
            self._active.pop(injection.id, None)
            self._moved_locked()
        return claimed

    def _end_those_due_locked(self, now: float) -> None:
        for injection in tuple(self._active.values()):
            if injection.ends_at is not None and injection.ends_at <= now:
                injection.over = True
                del self._active[injection.id]
                self._moved_locked()

    def _moved_locked(self) -> None:
        self.revision += 1
        self.active = bool(self._active)


def _is_over_at_once(fault: Fault) -> bool:
    """Return whether a fault ends immediately after it has been applied to the open watches."""
    return isinstance(fault, WatchFault) and fault.only_open and not fault.lasting


def _holds_watch(fault: WatchFault, asked: RequestAttributes, *, opening: bool) -> bool:
    if isinstance(fault, Lag):
        return fault.count is None
    if not isinstance(fault, Expire):
        return True
    # A watch that starts from the current state cannot be too old.
    continues = not opening or fault.after_events or asked.is_resumed
    return bool(continues) and not fault.as_status


def _refuses(fault: Expire, asked: RequestAttributes) -> bool:
    """Return whether the request is answered with 410. Otherwise, its watch sends an ERROR watch event."""
    return asked.verb == "list" or (fault.as_status and asked.is_resumed)
