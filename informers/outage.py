"""
While lists and watches fail, a reflector waits, longer each time, and says so.

The first trouble of a kind is one line in full, with the fix where a person has to do something. Repeats are
counted once a minute. The end of the trouble is one line.

Each wait is longer than the last, and at least as long as the server asked for. Reflectors that share a
Reachability wait for a gone server together: the first answer to any request ends all their waits. Then each
back-off starts over: an error after the server's return is new trouble, and begins with a short wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

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
    TransportError,
    Unauthorized,
    is_expired,
)
from handloop.client.rest_client import Reachability
from handloop.workqueue.backoff import ExponentialBackoff
from handloop.workqueue.seams import REAL_CLOCK, REAL_SEAMS, Clock, Seams
from handloop.workqueue.stdlib_logs import get_logger

log = get_logger("informers")

REPEAT_SECONDS: Final = 60.0

# client-go's numbers for the reflector's back-off; arbitrary
BACKOFF_INITIAL_SECONDS: Final = 0.8
BACKOFF_MAX_SECONDS: Final = 30.0
BACKOFF_RESET_SECONDS: Final = 120.0

# waits shorter than this are not worth cutting short
_LONG_SECONDS: Final = 2.0
# A return of the server starts the back-off over once in this time. So a server that comes and goes is still
# backed off from, and so is a stream that is cut again and again while others are not.
_RETURN_SECONDS: Final = 10.0
# when a gone server is back, reflectors come back spread over this time, not all at once
_SPREAD_SECONDS: Final = 1.0
# how much of a server's Retry-After is believed
_RETRY_AFTER_MAX_SECONDS: Final = 120.0

_GONE: Final = "gone"
_SILENT: Final = "silent"
# a server that has just started reads its roles for some seconds, and allows nothing meanwhile
ROLES_SECONDS: Final = 15.0
_FORBIDDEN_ANEW: Final = "forbidden anew"
_ROLES_HINT: Final = "this was allowed before: a server that has just started may still be reading its roles"

# the ways in which a server does not answer
_UNANSWERED: Final = (ConnectionRefused, ConnectionBroken, DeadlineExceeded)
_THEIRS: Final = (APIError, TransportError, DecodeError)

WatchErrorHandler: TypeAlias = Callable[[Exception], None]
"""Called with every error that ends a round, in place of the log line; on the reflector thread."""


def cause_of(error: Exception) -> BaseException:
    """The server's or the network's error behind one of ours. Such an error itself is returned as it is."""
    if error.__cause__ is None or isinstance(error, _THEIRS):
        return error
    return error.__cause__


def is_unanswered(error: Exception) -> bool:
    """Whether the server did not answer."""
    return isinstance(cause_of(error), _UNANSWERED)


class Hints(msgspec.Struct, frozen=True):
    """
    A program's additions to the fix of a trouble: commands whose output `kubectl apply -f -` takes.

    crd_command prints the missing CustomResourceDefinitions, rbac_command the missing roles, with `-n NAME`
    for those of one namespace. "" = the program has no such command. nearest finds what the server has in
    place of a resource that it does not know, "" = nothing; it may ask the server, and raises nothing.
    """

    crd_command: str = ""
    rbac_command: str = ""
    nearest: Callable[[Resource], str] | None = None


NO_HINTS: Final = Hints()


def fix_for(error: Exception, resource: Resource, namespace: str = "", *, hints: Hints = NO_HINTS) -> str:
    """
    The fix for a failed list or watch, for a person; "" if only waiting helps.

    Args: namespace "" = all of them.
    """
    cause = cause_of(error)
    if isinstance(cause, NoKindMatch):
        return (
            f"the server has no resource {resource.group_resource}/{resource.version}"
            f"{_did_you_mean(resource, hints)}: install its "
            f"CustomResourceDefinition{_applied(hints.crd_command)}; "
            "watching starts by itself when it appears"
        )
    if isinstance(cause, Forbidden):
        where = f'in namespace "{namespace}"' if namespace else "at cluster scope"
        scope = f" -n {namespace}" if namespace else ""
        return (
            f"allow list and watch of {resource.group_resource} {where}"
            f"{_applied(hints.rbac_command, scope)}; "
            "watching starts by itself when it is allowed"
        )
    if isinstance(cause, Unauthorized):
        return (
            "the server does not accept these credentials: log in again, or check the user in the kubeconfig"
        )
    return ""


def _did_you_mean(resource: Resource, hints: Hints) -> str:
    """May ask the server, on the reflector's thread: a few requests for a line that comes once a minute."""
    near = hints.nearest(resource) if hints.nearest is not None else ""
    return f" (did you mean {near}?)" if near else ""


def _applied(command: str, scope: str = "") -> str:
    return f", `{command}{scope} | kubectl apply -f -`" if command else ""


class Backoff(Protocol):
    """Growing delays."""

    def next(self) -> float:
        """Seconds to wait before the next try."""

    def reset(self) -> None:
        """Start over with the shortest."""


class RetryPause:
    """
    The waits of one reflector.

    State: stopped ends every wait, for good. _gone = the server was found gone and has not answered since.
           _returned_at = when it last came back. retry_at (as Clock.now() counts, None = not waiting) is for
           others to read, one step behind.
    Threads: the reflector's; stop from any.
    """

    def __init__(
        self,
        backoff: Backoff | None = None,
        *,
        reachability: Reachability | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: backoff None = client-go's. reachability None = no answer to others cuts a wait short."""
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
        """End the wait under way and all later ones at once, from any thread."""
        self.stopped.set()
        if self._reachability is not None:
            self._reachability.wake()

    def seconds(self, error: Exception, *, gone: bool) -> float:
        """
        How long to wait after this error; ask once per error.

        Args: gone = the server is not there.
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

    def wait(self, seconds: float, *, gone: bool) -> None:
        """
        Wait.

        Args: gone = until the server is back, if that is earlier.
        Blocks: until then, or until stop().
        """
        server, began_at = self._reachability, self._clock.now()
        self.retry_at = began_at + seconds
        if server is None or not gone or seconds < _LONG_SECONDS or self._has_just_returned():
            self._clock.sleep(seconds, self.stopped)
        elif server.wait_for_return(seconds, self.stopped):
            self.server_answered()
            now = self._clock.now()
            self.retry_at = min(now + self._random() * _SPREAD_SECONDS, began_at + seconds)
            self._clock.sleep(self.retry_at - now, self.stopped)
        self.retry_at = None

    def server_answered(self) -> None:
        """The server is there, whatever it says."""
        if self._gone and not self._has_just_returned():
            self._returned_at = self._clock.now()
            self._backoff.reset()
        self._gone = False

    def _has_just_returned(self) -> bool:
        return self._clock.now() < self._returned_at + _RETURN_SECONDS


class Doing(IntEnum):
    """Stages of a round, in order. Success at a stage also ends trouble reported for earlier ones."""

    LIST = 1
    OPEN_WATCH = 2
    READ_WATCH = 3


class _Trouble(NamedTuple):
    """What makes two failures the same trouble. Their texts do not count: they hold addresses and times."""

    doing: Doing
    error: str
    code: int

    def is_same(self, other: _Trouble) -> bool:
        """A server that goes away first cuts streams off and then refuses connections: one trouble."""
        return self == other or self.error == other.error == _GONE


class Outage:
    """
    The log lines of one reflector's trouble, and the waiting in it.

    State: _trouble = the last one said, None while all is well; _repeats = the same again since that line.
           _worked = something has succeeded before; _forbidden_at = since when nothing but 403 comes.
           last_error, and fix for that last said, are for others to read, one step behind.
    Threads: the reflector's.
    """

    def __init__(
        self,
        name: str,
        resource: Resource,
        namespace: str = "",
        *,
        pause: RetryPause,
        hints: Hints = NO_HINTS,
        watch_error_handler: WatchErrorHandler | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: name is the reflector's. namespace is only named in the fix."""
        self.name = name
        self.pause = pause
        self._resource = resource
        self._namespace = namespace
        self._hints = hints
        self._watch_error_handler = watch_error_handler
        self._clock = clock
        self._trouble: _Trouble | None = None
        self._began_at = 0.0
        self._said_at = 0.0
        self._repeats = 0
        self._worked = False
        self._forbidden_at: float | None = None
        self.last_error = self.fix = ""

    def wait(self, doing: Doing, error: Exception, *, ends_round: bool = False) -> None:
        """
        Say what is wrong, then wait before the next try.

        Args: ends_round = the watch error handler gets the error, if the program has set one.
        Blocks: until the wait is over, or until the reflector is stopped.
        """
        gone = _kind_of(doing, error) == _GONE
        delay = self.pause.seconds(error, gone=gone)
        self.last_error = str(error)
        if ends_round and self._watch_error_handler is not None:
            self._hand_over(error, self._watch_error_handler)
        else:
            self._failed(doing, error, delay)
        self.pause.wait(delay, gone=gone)

    def over(self, doing: Doing) -> None:
        """A stage succeeded. If trouble was reported for it or an earlier one, say that it is over."""
        self._worked, self._forbidden_at = True, None
        self.pause.server_answered()
        if self._trouble is None or self._trouble.doing > doing:
            return
        lasted = self._clock.now() - self._began_at
        log.info("Watching again", reflector=self.name, after=f"{lasted:.1f} s")
        self._trouble, self.last_error, self.fix = None, "", ""

    def _hand_over(self, error: Exception, handler: WatchErrorHandler) -> None:
        try:
            handler(error)
        except Exception as failure:
            log.exception("Watch error handler failed", reflector=self.name, err=repr(failure))

    def _failed(self, doing: Doing, error: Exception, delay: float) -> None:
        now = self._clock.now()
        cause = cause_of(error)
        code = cause.code if isinstance(cause, APIError) else 0
        kind = self._kind(doing, error, now)
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

    def _kind(self, doing: Doing, error: Exception, now: float) -> str:
        """As _kind_of, but for a while a 403 counts as temporary if requests were allowed before."""
        if not isinstance(cause_of(error), Forbidden):
            self._forbidden_at = None
        elif self._worked:
            if self._forbidden_at is None:
                self._forbidden_at = now
            if now < self._forbidden_at + ROLES_SECONDS:
                return _FORBIDDEN_ANEW
        return _kind_of(doing, error)

    def _say(self, repeated: str, doing: Doing, error: Exception, delay: float) -> None:
        message = f"Failed to {'list' if doing is Doing.LIST else 'watch'}{repeated}"
        facts = {"reflector": self.name, "err": str(error), "retryIn": f"{delay:.1f} s"}
        self.fix = fix = fix_for(error, self._resource, self._namespace, hints=self._hints)
        if self._trouble is not None and self._trouble.error == _FORBIDDEN_ANEW:
            facts["hint"] = _ROLES_HINT
        elif fix:
            facts["fix"] = fix
        if is_expired(error) or _is_silence(doing, error):
            log.info(message, **facts)
        elif isinstance(cause_of(error), ClientError):
            log.warning(message, **facts)
        else:
            # an error of ours, not of a server or a network: show its traceback
            log.error(message, **facts, exc_info=error)


def _kind_of(doing: Doing, error: Exception) -> str:
    if _is_silence(doing, error):
        return _SILENT
    return _GONE if is_unanswered(error) else type(cause_of(error)).__name__


def _is_silence(doing: Doing, error: Exception) -> bool:
    """
    Whether an open watch brought nothing for too long, so that it is opened anew in case the server is gone.

    That alone is no trouble: a server does not repeat a bookmark, so an idle kind is silent after one.
    """
    return doing is Doing.READ_WATCH and isinstance(cause_of(error), DeadlineExceeded)
