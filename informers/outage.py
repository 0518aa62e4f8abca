"""
Handles failing lists and watches: logs the failures, and waits longer after each one.

The first failure of each kind is logged in one line, with a fix if the user has to act. Repeated failures
are counted, and their number is logged once a minute. The end of an outage is logged in one line, too.

Each wait is longer than the last one, up to a maximum, and at least as long as the server requested. If
reflectors share a Reachability, all of them stop waiting as soon as an unreachable server answers any request
again. Their back-offs start over, because a later error is a new failure, and its first wait must be short.
Decision: One answer ends an outage for all reflectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Final, NamedTuple, Protocol

import msgspec

from handloop.apis.resource import Resource
from handloop.client.errors import (
    APIError,
    ClientError,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    Forbidden,
    NoKindMatch,
    TooManyRequests,
    TransportError,
    Unauthorized,
    is_expired,
)
from handloop.client.rest_client import Reachability
from handloop.informers.backoff import ExponentialBackoff
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.step_trace import TRACE, short_text

log = get_logger("informers")

REPEAT_SECONDS: Final = 60.0

# client-go's values for the reflector's back-off, which are arbitrary.
BACKOFF_INITIAL_SECONDS: Final = 0.8
BACKOFF_MAX_SECONDS: Final = 30.0
BACKOFF_RESET_SECONDS: Final = 120.0

# Only waits of at least this length can end early.
_LONG_SECONDS: Final = 2.0
# The server's return resets the back-off at most once in this period. Otherwise the back-off would not grow
# if a server fails and returns repeatedly, or if one stream is cut repeatedly while others are not.
_RETURN_SECONDS: Final = 10.0
# After a server's return, the reflectors' requests are spread over this time.
_SPREAD_SECONDS: Final = 1.0
# A server's Retry-After is limited to this time.
_RETRY_AFTER_MAX_SECONDS: Final = 120.0

_GONE: Final = "gone"
# For this long, a refusal may be temporary. A server that has just started refuses requests for a few
# seconds, until it has read its roles. A server with a new CustomResourceDefinition returns 429 while it
# prepares the storage.
PATIENCE_SECONDS: Final = 15.0
_FORBIDDEN_ANEW: Final = "forbidden anew"
_ASKED_TO_WAIT: Final = "asked to wait"
_ROLES_HINT: Final = "this was allowed before: a server that has just started may still be reading its roles"

# The errors that mean that the server did not answer.
_UNANSWERED: Final = (ConnectionRefused, ConnectionBroken, DeadlineExceeded)
_THEIRS: Final = (APIError, TransportError, DecodeError)


def cause_of(error: Exception) -> BaseException:
    """Return the server's or network's error that caused this error, or else the error itself."""
    if error.__cause__ is None or isinstance(error, _THEIRS):
        return error
    return error.__cause__


def is_unanswered(error: Exception) -> bool:
    """Return whether the server did not answer."""
    return isinstance(cause_of(error), _UNANSWERED)


class Hints(msgspec.Struct, frozen=True):
    """
    What a program adds to the fixes in log lines: its own commands, and the search for a similar resource.

    The output of both commands can be passed to `kubectl apply -f -`. crd_command prints the
    CustomResourceDefinitions of the resources in crds, or of any resource if crds is None. rbac_command
    prints the missing roles; with `-n NAME`, it prints those in one namespace. A command is "" if the program
    does not have it. nearest takes a resource that the server does not have, and returns a similar one that
    the server has, or "". nearest can send requests to the server, and does not raise.
    """

    crd_command: str = ""
    crds: frozenset[Resource] | None = None
    rbac_command: str = ""
    nearest: Callable[[Resource], str] | None = None


NO_HINTS: Final = Hints()


def fix_for(
    error: Exception,
    resource: Resource,
    namespace: str = "",
    *,
    object_name: str = "",
    hints: Hints = NO_HINTS,
) -> str:
    """
    Return what the user can do about a failed list or watch, or "" if only waiting helps.

    Args: namespace is empty for all namespaces; object_name is the name of the only watched object, or "" if
    more objects are watched.
    """
    cause = cause_of(error)
    if isinstance(cause, NoKindMatch):
        ours = hints.crds is None or resource in hints.crds
        return (
            f"the server has no resource {resource.group_resource}/{resource.version}"
            f"{_did_you_mean(resource, hints)}: install a CustomResourceDefinition that serves it"
            f"{_applied(hints.crd_command if ours else '')}; "
            "watching starts by itself when it appears"
        )
    if isinstance(cause, Forbidden):
        where = f'in namespace "{namespace}"' if namespace else "at cluster scope"
        scope = f" -n {namespace}" if namespace else ""
        only = f' named "{object_name}" (a rule with resourceNames does)' if object_name else ""
        return (
            f"allow list and watch of {resource.group_resource}{only} {where}"
            f"{_applied(hints.rbac_command, scope)}; "
            "watching starts by itself when it is allowed"
        )
    if isinstance(cause, Unauthorized):
        return (
            "the server does not accept these credentials: log in again, or check the user in the kubeconfig"
        )
    return ""


def _did_you_mean(resource: Resource, hints: Hints) -> str:
    """
    Return a question that suggests a similar resource, or "".

    The search may send a few requests on the reflector's thread. This is acceptable because the fix is
    logged at most once a minute.
    """
    near = hints.nearest(resource) if hints.nearest is not None else ""
    return f" (did you mean {near}?)" if near else ""


def _applied(command: str, scope: str = "") -> str:
    return f", `{command}{scope} | kubectl apply -f -`" if command else ""


class Backoff(Protocol):
    """Growing delays."""

    def next(self) -> float:
        """Return the seconds to wait before the next try."""

    def reset(self) -> None:
        """Start over with the shortest delay."""


class RetryPause:
    """
    Manages the waits of one reflector.

    State: stopped ends every wait once it is set. _gone is True from the first unanswered request until
    the server answers again. _returned_at is when it last did so. retry_at is when the current wait ends, as
    a value of Clock.now(), or None if there is no wait. Other threads can read retry_at, and may be one step
    behind.
    Threads: runs on the reflector's thread; any thread can call stop.
    """

    def __init__(
        self,
        backoff: Backoff | None = None,
        *,
        reachability: Reachability | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: backoff is client-go's by default. Without a reachability, no wait ends early."""
        self._backoff: Backoff = backoff or ExponentialBackoff(
            BACKOFF_INITIAL_SECONDS, BACKOFF_MAX_SECONDS, BACKOFF_RESET_SECONDS, seams=seams
        )
        self._reachability = reachability
        self._clock = seams.clock
        self._random = seams.random
        self._gone = False
        self._returned_at = -_RETURN_SECONDS
        self.stopped = threading.Event()
        self.retry_at: float | None = None

    def stop(self) -> None:
        """End the current wait and all later waits immediately. Any thread can call this."""
        self.stopped.set()
        if self._reachability is not None:
            self._reachability.wake()

    def seconds(self, error: Exception, *, gone: bool) -> float:
        """
        Return how long to wait after this error. Each call advances the back-off.

        Args: gone is True if the server did not answer.
        """
        if gone:
            self._gone = True
        else:
            self.server_answered()
        delay = self._backoff.next()
        cause = cause_of(error)
        if isinstance(cause, APIError) and cause.retry_after_seconds is not None:
            return max(delay, min(cause.retry_after_seconds, _RETRY_AFTER_MAX_SECONDS))
        return delay

    def wait(self, seconds: float, *, gone: bool, returns_seen: int | None = None) -> None:
        """
        Wait before the next attempt.

        Args: gone is True if the server did not answer. A long wait then ends early if the server answers
        again. For returns_seen, see TransportError.
        Blocks: until the time has passed, the server answers again, or stop() is called.
        """
        server, began_at = self._reachability, self._clock.now()
        self.retry_at = began_at + seconds
        if server is None or not gone or seconds < _LONG_SECONDS or self._has_just_returned():
            self._clock.sleep(seconds, self.stopped)
        elif server.wait_for_return(seconds, self.stopped, seen=returns_seen):
            self.server_answered()
            now = self._clock.now()
            self.retry_at = min(now + self._random() * _SPREAD_SECONDS, began_at + seconds)
            self._clock.sleep(self.retry_at - now, self.stopped)
        self.retry_at = None

    def server_answered(self) -> None:
        """Record that the server has answered, even if the answer was an error."""
        if self._gone and not self._has_just_returned():
            self._returned_at = self._clock.now()
            self._backoff.reset()
        self._gone = False

    def _has_just_returned(self) -> bool:
        return self._clock.now() < self._returned_at + _RETURN_SECONDS


class Doing(IntEnum):
    """Stages of a round, in order. Success at one stage also ends an outage of earlier stages."""

    LIST = 1
    OPEN_WATCH = 2
    READ_WATCH = 3


class _Trouble(NamedTuple):
    """Identifies a failure without its error text, which can contain addresses and times."""

    doing: Doing
    error: str
    code: int

    def is_same(self, other: _Trouble) -> bool:
        """
        Return whether both failures belong to one outage.

        For example, a server that shuts down first ends streams, and then refuses connections.
        """
        return self == other or self.error == other.error == _GONE


class Outage:
    """
    Logs one reflector's failures, and waits after each one.

    State:
        _trouble        the last failure, or None while everything works.
        _said           whether a log line above debug level has reported the outage.
        _repeats        how often the failure was repeated since the last log line.
        _worked         whether any stage has ever succeeded.
        _refused_since  the last error's code (403, 429, or 0 for any other error), and the time since which
                        all errors have had that code; None after a success.
        last_error, last_code    the last error and its HTTP status.
        fix             the fix for the last logged error, set before last_error and last_code.
    Threads: runs on the reflector's thread. Other threads can read last_error, last_code and fix, which may
    be one step behind.
    """

    def __init__(
        self,
        name: str,
        resource: Resource,
        namespace: str = "",
        *,
        object_name: str = "",
        pause: RetryPause,
        hints: Hints = NO_HINTS,
        quiet: bool = False,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """
        Args: name is the reflector's name. namespace and object_name are used only in the fix. For
        quiet, see InformerOptions.
        """
        self.name = name
        self.pause = pause
        self._fix_for = partial(
            fix_for, resource=resource, namespace=namespace, object_name=object_name, hints=hints
        )
        self._quiet = quiet
        self._clock = clock
        self._trouble: _Trouble | None = None
        self._began_at = 0.0
        self._said_at = 0.0
        self._repeats = 0
        self._said = self._worked = False
        self._refused_since: tuple[int, float] | None = None
        self.last_error = self.fix = ""
        self.last_code = 0

    def wait(self, doing: Doing, error: Exception, *, ends_round: bool = False) -> None:
        """
        Log a failure, and then wait before the next attempt.

        Args: ends_round is True if the error ends the round, so that a new list follows.
        Blocks: until the wait is over, or until the reflector is stopped.
        """
        gone = is_unanswered(error)
        delay = self.pause.seconds(error, gone=gone)
        if TRACE.on:
            what = {"expired": True} if is_expired(error) else {}
            TRACE.tell(
                1, self.name, "", broke=short_text(cause_of(error)), doing=doing.name, seconds=delay, **what
            )
        if ends_round and self._quiet:
            log.debug("Failed to watch", v=2, reflector=self.name, err=in_words(error))
        else:
            self._failed(doing, error, delay)
        # Set this after the fix, so that a reader that sees the error also sees the fix.
        cause = cause_of(error)
        self.last_code = cause.code if isinstance(cause, APIError) else 0
        self.last_error = in_words(error)
        self.pause.wait(
            delay, gone=gone, returns_seen=cause.returns_seen if isinstance(cause, TransportError) else None
        )

    def over(self, doing: Doing) -> None:
        """
        Record that a stage succeeded, and clear the error.

        If a failure at this stage or an earlier one was logged, log the end of the outage.
        """
        self._worked, self._refused_since = True, None
        self.last_error = self.fix = ""
        self.last_code = 0
        self.pause.server_answered()
        if self._trouble is None or self._trouble.doing > doing:
            return
        self._trouble = None
        if self._said:
            lasted = self._clock.now() - self._began_at
            log.info("Watching again", reflector=self.name, after=f"{lasted:.1f} s")
            self._said = False

    def _failed(self, doing: Doing, error: Exception, delay: float) -> None:
        now = self._clock.now()
        cause = cause_of(error)
        code = cause.code if isinstance(cause, APIError) else 0
        kind = self._kind(error, now, delay)
        before, self._trouble = self._trouble, _Trouble(doing, kind, code)
        if before is None or not self._trouble.is_same(before):
            if before is None:
                self._began_at = now
            self._said_at, self._repeats = now, 0
            self._say("", doing, error, delay)
            return
        self._repeats += 1
        elapsed = now - self._said_at
        if elapsed >= REPEAT_SECONDS:
            self._say(f" (×{self._repeats} in {elapsed:.0f} s)", doing, error, delay)  # noqa: RUF001 - times
            self._said_at, self._repeats = now, 0

    def _kind(self, error: Exception, now: float, delay: float) -> str:
        """
        Return the kind of an error.

        A 429, and a 403 after an earlier success, can be temporary. They have kinds of their own until they
        have lasted for PATIENCE_SECONDS.
        """
        cause = cause_of(error)
        code = cause.code if isinstance(cause, TooManyRequests | Forbidden) else 0
        if self._refused_since is None or self._refused_since[0] != code:
            self._refused_since = (code, now)
        if now < self._refused_since[1] + PATIENCE_SECONDS:
            if isinstance(cause, TooManyRequests) and delay < PATIENCE_SECONDS:
                return _ASKED_TO_WAIT
            if isinstance(cause, Forbidden) and self._worked:
                return _FORBIDDEN_ANEW
        return _GONE if is_unanswered(error) else type(cause).__name__

    def _say(self, repeated: str, doing: Doing, error: Exception, delay: float) -> None:
        message = f"Failed to {'list' if doing is Doing.LIST else 'watch'}{repeated}"
        facts = {"reflector": self.name, "err": in_words(error), "retryIn": f"{delay:.1f} s"}
        self.fix = fix = self._fix_for(error)
        if self._trouble is not None and self._trouble.error == _FORBIDDEN_ANEW:
            facts["hint"] = _ROLES_HINT
        elif fix:
            facts["fix"] = fix
        if self._trouble is not None and self._trouble.error == _ASKED_TO_WAIT:
            log.debug(message, v=4, **facts)
            return
        self._said = True
        if is_expired(error):
            log.info(message, **facts)
        elif isinstance(cause_of(error), ClientError):
            log.warning(message, **facts)
        else:
            # The error is our own and not from a server or a network, so show its traceback.
            log.error(message, **facts, exc_info=error)
