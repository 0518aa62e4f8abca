"""
Says what goes wrong between an informer and the server: each distinct trouble once in full, then how often.

A server that is down is one line when it goes, a count once a minute while it is gone, and one line when it is back.
Where somebody has to do something (no such resource, no permission, no credentials) the line contains the fix.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import structlog

from apis.resource import Resource
from client.errors import APIError, ClientError, Forbidden, NotFound, TransportError, Unauthorized
from workqueue.clock import Clock

log = structlog.get_logger("informers")

REPEAT_SECONDS: Final = 60.0


class Trouble(NamedTuple):
    """What makes two failures the same state: not their text, which may hold addresses and times."""

    doing: str
    error: str
    code: int


class FailureLog:
    """
    The log lines of one reflector.

    State: _trouble = the state that was last said, None while all is well; _repeats = failures since its last line.
    Threads: the reflector's only.
    """

    def __init__(self, *, name: str, resource: Resource, namespace: str, clock: Clock) -> None:
        self._name = name
        self._resource = resource
        self._namespace = namespace
        self._clock = clock
        self._trouble: Trouble | None = None
        self._began_at = 0.0
        self._said_at = 0.0
        self._repeats = 0

    def failed(self, doing: str, error: Exception, *, retry_in_seconds: float) -> None:
        """
        Note a failure.

        Args: doing = "list" or "watch".
        """
        now = self._clock.now()
        trouble = Trouble(doing, type(error).__name__, error.code if isinstance(error, APIError) else 0)
        if trouble != self._trouble:
            self._say(f"Failed to {doing}", error, retry_in_seconds)
            self._began_at = self._began_at if self._trouble else now
            self._trouble, self._said_at, self._repeats = trouble, now, 0
            return
        self._repeats += 1
        elapsed = now - self._said_at
        if elapsed >= REPEAT_SECONDS:
            self._say(f"Failed to {doing} (×{self._repeats} in {elapsed:.0f} s)", error, retry_in_seconds)
            self._said_at, self._repeats = now, 0

    def recovered(self) -> None:
        """Note that the server answers again; says so if the last thing said was a failure."""
        if self._trouble is None:
            return
        down = self._clock.now() - self._began_at
        log.info(f"Watching {self._name} again", reflector=self._name, after=f"{down:.1f} s")
        self._trouble = None

    def _say(self, message: str, error: Exception, retry_in_seconds: float) -> None:
        fix = fix_for(error, self._resource, self._namespace)
        facts = {"reflector": self._name, "err": str(error), "retryIn": f"{retry_in_seconds:.1f} s"}
        if fix:
            facts["fix"] = fix
        if isinstance(error, ClientError):
            log.warning(message, **facts)
        else:
            # not something a server or a network does: show where it came from
            log.error(message, **facts, exc_info=error)


def fix_for(error: Exception, resource: Resource, namespace: str = "") -> str:
    """
    What a person can do about an error of a list or watch; "" where waiting is all there is.

    Args: namespace "" = all of them.
    """
    cause = error.__cause__ if not isinstance(error, ClientError) else error
    if isinstance(cause, NotFound):
        return (
            f"the server has no resource {resource.group_resource}/{resource.version}: install its "
            "CustomResourceDefinition, `python -m controller manifests crd | kubectl apply -f -`; "
            "watching starts by itself when it appears"
        )
    if isinstance(cause, Forbidden):
        where = f'in namespace "{namespace}"' if namespace else "at cluster scope"
        return (
            f"allow list and watch of {resource.group_resource} {where}, "
            "`python -m controller manifests rbac | kubectl apply -f -`; watching starts by itself when allowed"
        )
    if isinstance(cause, Unauthorized):
        return "the server does not accept these credentials: log in again, or check the kubeconfig's user"
    if isinstance(cause, TransportError):
        return ""
    return ""
