"""
What a reflector does while the server does not give it what it needs: wait, longer each time, and say so.

The first trouble of a kind is one line in full, with the fix where somebody has to do something; what repeats
is counted once a minute; the end of it is one line.
"""

from __future__ import annotations

import threading
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import structlog

from apis.resource import Resource
from client.errors import (
    APIError,
    ClientError,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    Forbidden,
    NotFound,
    TransportError,
    Unauthorized,
    is_expired,
)
from workqueue.clock import Clock

log = structlog.get_logger("informers")

REPEAT_SECONDS: Final = 60.0

# a server that does not answer, however that shows
_UNANSWERED: Final = (ConnectionRefused, ConnectionBroken, DeadlineExceeded)
_GONE: Final = "gone"
_THEIRS: Final = (APIError, TransportError, DecodeError)

# how much of a server's Retry-After is believed
_RETRY_AFTER_MAX_SECONDS: Final = 120.0


class Doing(IntEnum):
    """What was tried, in the order in which it is reached: success at one is the end of trouble up to it."""

    LIST = 1
    OPEN_WATCH = 2
    READ_WATCH = 3


class Backoff(Protocol):
    """Growing delays."""

    def next(self) -> float:
        """Seconds to wait before the next try."""


class _Trouble(NamedTuple):
    """What makes two failures the same: not their text, which may hold addresses and times."""

    doing: Doing
    error: str
    code: int

    def is_same(self, other: _Trouble) -> bool:
        """A server that has gone cuts streams off first and refuses connections then: one trouble."""
        return self == other or self.error == other.error == _GONE


class Outage:
    """
    The waiting and the log lines of one reflector.

    State: _trouble = what was last said, None while all is well; _repeats = the same again since that line.
           last_error and retry_at (as Clock.now() counts, None = not waiting) are for others to read, one
           step behind.
    Threads: the reflector's.
    """

    def __init__(
        self,
        *,
        name: str,
        resource: Resource,
        namespace: str,
        backoff: Backoff,
        clock: Clock,
        stop: threading.Event,
    ) -> None:
        self._name = name
        self._resource = resource
        self._namespace = namespace
        self._backoff = backoff
        self._clock = clock
        self._stop = stop
        self._trouble: _Trouble | None = None
        self._began_at = 0.0
        self._said_at = 0.0
        self._repeats = 0
        self.last_error = ""
        self.retry_at: float | None = None

    def wait(self, doing: Doing, error: Exception | None, *, quiet: bool = False) -> None:
        """
        Wait for one back-off step, or longer if the server asked for it.

        Args: error None = nothing is wrong, merely wait; quiet = somebody else has said it.
        Blocks: until then, or until the reflector is stopped.
        """
        delay = self._delay(error)
        if error is not None:
            self.last_error = str(error)
            if not quiet:
                self._failed(doing, error, delay)
        self.retry_at = self._clock.now() + delay
        self._clock.sleep(delay, self._stop)
        self.retry_at = None

    def over(self, doing: Doing) -> None:
        """Something succeeded; says so if trouble up to there was said."""
        if self._trouble is None or self._trouble.doing > doing:
            return
        lasted = self._clock.now() - self._began_at
        log.info("Watching again", reflector=self._name, after=f"{lasted:.1f} s")
        self._trouble, self.last_error = None, ""

    def _delay(self, error: Exception | None) -> float:
        delay = self._backoff.next()
        cause = _cause_of(error)
        if isinstance(cause, APIError) and cause.retry_after_seconds is not None:
            return max(delay, min(cause.retry_after_seconds, _RETRY_AFTER_MAX_SECONDS))
        return delay

    def _failed(self, doing: Doing, error: Exception, delay: float) -> None:
        now = self._clock.now()
        cause = _cause_of(error)
        code = cause.code if isinstance(cause, APIError) else 0
        kind = _GONE if isinstance(cause, _UNANSWERED) else type(cause).__name__
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

    def _say(self, repeated: str, doing: Doing, error: Exception, delay: float) -> None:
        message = f"Failed to {'list' if doing is Doing.LIST else 'watch'}{repeated}"
        facts = {"reflector": self._name, "err": str(error), "retryIn": f"{delay:.1f} s"}
        fix = fix_for(error, self._resource, self._namespace)
        if fix:
            facts["fix"] = fix
        if is_expired(error):
            log.info(message, **facts)
        elif isinstance(_cause_of(error), ClientError):
            log.warning(message, **facts)
        else:
            # nothing that a server or a network does: show where it came from
            log.error(message, **facts, exc_info=error)


def fix_for(error: Exception, resource: Resource, namespace: str = "") -> str:
    """
    What a person can do about a failed list or watch; "" where waiting is all there is.

    Args: namespace "" = all of them.
    """
    cause = _cause_of(error)
    if isinstance(cause, NotFound):
        return (
            f"the server has no resource {resource.group_resource}/{resource.version}: install its "
            "CustomResourceDefinition, `python -m controller manifests crd | kubectl apply -f -`; "
            "watching starts by itself when it appears"
        )
    if isinstance(cause, Forbidden):
        where = f'in namespace "{namespace}"' if namespace else "at cluster scope"
        scope = f" -n {namespace}" if namespace else ""
        return (
            f"allow list and watch of {resource.group_resource} {where}, "
            f"`python -m controller manifests rbac{scope} | kubectl apply -f -`; "
            "watching starts by itself when it is allowed"
        )
    if isinstance(cause, Unauthorized):
        return (
            "the server does not accept these credentials: log in again, or check the user in the kubeconfig"
        )
    return ""


def _cause_of(error: Exception | None) -> BaseException | None:
    """The error of the server or the network behind one of ours; what is behind theirs is a detail."""
    if error is None or error.__cause__ is None or isinstance(error, _THEIRS):
        return error
    return error.__cause__
