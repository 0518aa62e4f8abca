"""
Faults as data: the JSON of `POST /sandbox/faults`, and the arguments of the Python API.

A fault says which requests it hits, how many, and for how long. Its class says what it does to a request;
handloop_sandbox.faults.watch_output says what it does to an open watch.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from handloop_sandbox.faults.request_attributes import RequestAttributes
from handloop_sandbox.requests.authorization import forbidden_access
from handloop_sandbox.storage.watches import too_old
from handloop_sandbox.wire.status import OBJECT_MODIFIED, StatusError, expired, failure

WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
VERBS: Final = ("get", "list", "watch", *WRITES, "post", "put", "head", "options", "*")
"""The verbs of requests for objects, and of other requests."""
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_EXPIRED_LIST: Final = "The provided continue parameter is too old to display a consistent list result."

Seconds = Annotated[float, Meta(ge=0)]
Number = Annotated[int, Meta(ge=0)]


class Fault(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="fault",
):
    """
    The common part of every fault: which requests it hits, how many, and for how long.

    verbs are RBAC verbs; if there are none, the fault hits its usual verbs or, if it has no usual ones, all.
    resources are `foos`, `foos/status` or `foos.example.com`. namespace, name, user, user_agent and path are
    patterns with `*`; "" matches anything. A request for all namespaces has the namespace "". The fault
    spares the first `skip` requests and then hits `count` requests, or all if that is None. seconds is how
    long it lasts; None means until it is cleared.
    """

    usual_verbs: ClassVar[tuple[str, ...]] = ()
    lasting: ClassVar[bool] = False
    """Whether the fault's effect on a watch lasts until the fault is cleared."""

    verbs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    namespace: str = ""
    name: str = ""
    user: str = ""
    user_agent: str = ""
    path: str = ""
    skip: Number = 0
    count: Annotated[int, Meta(ge=1)] | None = None
    seconds: Annotated[float, Meta(gt=0)] | None = None

    def __post_init__(self) -> None:
        unknown = [verb for verb in self.verbs if verb not in VERBS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a verb; the verbs are {', '.join(VERBS)}")

    def chooses(self, asked: RequestAttributes) -> bool:
        """Return whether this request matches the fault's fields."""
        wanted = asked.attributes
        verbs = self.verbs or self.usual_verbs
        if (verbs and wanted.verb not in verbs and "*" not in verbs) or not self.concerns(asked):
            return False
        if self.resources and not any(asked.is_about(resource) for resource in self.resources):
            return False
        return all(
            not pattern or fnmatchcase(text, pattern)
            for pattern, text in (
                (self.namespace, wanted.namespace),
                (self.name, wanted.name),
                (self.user, asked.user.name),
                (self.user_agent, asked.user_agent),
                (self.path, asked.path),
            )
        )

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return whether this kind of fault can apply to such a request."""
        del asked
        return True


class WatchFault(Fault, frozen=True, kw_only=True):
    """
    A fault that hits watches: open ones and, unless only_open is set, later ones.

    after_events is the number of watch events that each watch still sends before the fault hits it.
    """

    usual_verbs: ClassVar[tuple[str, ...]] = ("watch",)
    only_open: bool = False
    after_events: Number = 0

    def concerns(self, asked: RequestAttributes) -> bool:
        """Watches only."""
        return asked.verb == "watch"


class Refusal(Fault, frozen=True, kw_only=True):
    """A fault that answers the request instead of carrying it out."""

    def status(self, asked: RequestAttributes) -> StatusError:
        """The answer."""
        raise NotImplementedError


class Error(Refusal, frozen=True, kw_only=True, tag="error"):
    """
    An error code. By default, reason and message are the usual ones for that code.

    retry_after is the Retry-After header: seconds, or any text.
    """

    code: Annotated[int, Meta(ge=400, le=599)] = 500
    reason: str = ""
    message: str = ""
    retry_after: int | str | None = None

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer."""
        del asked
        reason = self.reason or _REASONS.get(self.code, "")
        text = self.message or f"a fault was requested: {self.code} {reason}".rstrip()
        details = {"retryAfterSeconds": self.retry_after} if isinstance(self.retry_after, int) else None
        headers = [] if self.retry_after is None else [("Retry-After", str(self.retry_after))]
        return StatusError(failure(self.code, reason, text, details=details), headers)


class Conflict(Refusal, frozen=True, kw_only=True, tag="conflict"):
    """409, as if another client had written first. By default, it hits updates and patches."""

    usual_verbs = ("update", "patch")

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer."""
        wanted = asked.attributes
        qualified = f"{wanted.plural}.{wanted.group}" if wanted.group else wanted.plural
        text = f'Operation cannot be fulfilled on {qualified} "{wanted.name}": {OBJECT_MODIFIED}'
        pairs = (("name", wanted.name), ("group", wanted.group), ("kind", wanted.plural))
        return StatusError(failure(409, "Conflict", text, details={k: v for k, v in pairs if v}))

    def concerns(self, asked: RequestAttributes) -> bool:
        """Writes of objects."""
        return bool(asked.attributes.plural) and asked.verb in WRITES


class Deny(Refusal, frozen=True, kw_only=True, tag="deny"):
    """403, as if no role allowed it."""

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer."""
        return forbidden_access(asked.user, asked.attributes)

    def concerns(self, asked: RequestAttributes) -> bool:
        """Requests on resources."""
        return bool(asked.attributes.plural)


class Latency(Fault, frozen=True, kw_only=True, tag="latency"):
    """The request waits before it is carried out, up to jitter_seconds longer than delay_seconds."""

    delay_seconds: Seconds
    jitter_seconds: Seconds = 0.0


class LoseAnswer(Fault, frozen=True, kw_only=True, tag="lose-answer"):
    """The connection breaks before or after the request is carried out, instead of delivering an answer."""

    usual_verbs = WRITES
    executed: bool = True


class Silence(WatchFault, frozen=True, kw_only=True, tag="silence"):
    """
    Half-open: the connection stays open and delivers no more bytes. A watch resumes when the fault is
    cleared; any other request never gets its answer.

    By default, it hits watches; other verbs can be named. executed tells whether a silent request is carried
    out.
    """

    lasting = True
    executed: bool = True

    def concerns(self, asked: RequestAttributes) -> bool:
        """Everything."""
        del asked
        return True


class DropWatch(WatchFault, frozen=True, kw_only=True, tag="drop-watch"):
    """The stream ends properly, is cut off (FIN without the last chunk), or is reset (RST)."""

    how: Literal["end", "cut", "reset"] = "end"


class DelayWatch(WatchFault, frozen=True, kw_only=True, tag="delay-watch"):
    """Watch events arrive this many seconds later or, if None, when the fault is cleared."""

    lasting = True
    delay_seconds: Seconds | None = None


class DistortWatch(WatchFault, frozen=True, kw_only=True, tag="distort-watch"):
    """
    Watch events are sent twice, newest first, not at all, or as invalid bytes.

    Each line is distorted separately, except for `reverse`, which reverses the lines that are sent at once.
    """

    lasting = True
    how: Literal["repeat", "reverse", "lose", "garble"] = "repeat"


class Expire(WatchFault, frozen=True, kw_only=True, tag="expire"):
    """
    Resource versions are too old: 410 for a watch that continues from one, and for further pages of a list.

    An open or new watch gets an ERROR watch event and ends. With as_status, only new watches are hit, and
    they get the HTTP status.
    """

    usual_verbs = ("list", "watch")
    as_status: bool = False

    def concerns(self, asked: RequestAttributes) -> bool:
        """Only further pages of lists, and watches."""
        return asked.continued if asked.verb == "list" else asked.verb == "watch"

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer as an HTTP status."""
        return expired(_EXPIRED_LIST) if asked.verb == "list" else StatusError(self.error_status(asked))

    @staticmethod
    def error_status(asked: RequestAttributes) -> dict[str, object]:
        """Return the Status of the ERROR watch event."""
        version = asked.resource_version
        asked_for = int(version) if version.isascii() and version.isdigit() else 0
        return too_old(asked_for, asked_for + 1)


class Lag(WatchFault, frozen=True, kw_only=True, tag="lag"):
    """
    Reads see the state of this many changes ago; if None, the state at the time when the fault was activated.

    A real server whose watch cache lags behind serves a read without a resource version from the store. So
    does the sandbox, which means that such a read sees the present. With consistent_reads, it also sees old
    state. Open watches are held back unless the fault has a count.
    """

    usual_verbs = ("get", "list", "watch")
    lasting = True
    changes: Number | None = None
    consistent_reads: bool = False

    def concerns(self, asked: RequestAttributes) -> bool:
        """Reads of objects."""
        return asked.is_read

    def answers_from_the_past(self, asked: RequestAttributes) -> bool:
        """Return whether this read is answered from old state."""
        return self.consistent_reads or bool(asked.resource_version)


AnyFault = (
    Error
    | Conflict
    | Deny
    | Latency
    | LoseAnswer
    | Silence
    | DropWatch
    | DelayWatch
    | DistortWatch
    | Expire
    | Lag
)
"""Every kind of fault; the tag in `fault` names it."""
