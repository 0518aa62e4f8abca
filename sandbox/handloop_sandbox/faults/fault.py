"""
The kinds of faults.

Each kind is a struct, which defines the JSON of `POST /sandbox/faults` and the arguments of the Python API.
A fault's fields describe which requests it hits, how many, and for how long. Its class describes its effect
on a request. handloop_sandbox.faults.watch_output implements its effect on an open watch.
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
"""The verbs that a fault can name: those of requests for objects, and those of other requests."""
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
    The fields that all faults share: which requests the fault hits, how many, and for how long.

    verbs are RBAC verbs. If verbs is empty, the fault hits its class's usual_verbs, or all verbs if
    usual_verbs is empty, too.
    resources have the form `foos`, `foos/status` or `foos.example.com`. namespace, name, user, user_agent and
    path are patterns with `*`; "" matches anything. A request for all namespaces has the namespace "". The
    fault ignores the first `skip` matching requests, and then hits `count` requests, or all if count is None.
    The fault lasts for `seconds`, or until it is cleared if seconds is None.
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
            raise ValueError(f"{unknown[0]!r} is not a verb. The verbs are {', '.join(VERBS)}")

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
        """Return whether this kind of fault can apply to a request."""
        del asked
        return True


class WatchFault(Fault, frozen=True, kw_only=True):
    """
    A fault that hits open watches and, unless only_open is set, watches that are opened later.

    The fault takes effect on a watch after the watch has sent `after_events` watch events.
    """

    usual_verbs: ClassVar[tuple[str, ...]] = ("watch",)
    only_open: bool = False
    after_events: Number = 0

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return whether the request is a watch."""
        return asked.verb == "watch"


class Refusal(Fault, frozen=True, kw_only=True):
    """A fault that answers a request with an error, without carrying it out."""

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer."""
        raise NotImplementedError


class Error(Refusal, frozen=True, kw_only=True, tag="error"):
    """
    Answers requests with an error code. By default, reason and message are derived from the code.

    retry_after is the value of the Retry-After header: a number of seconds, or any text.
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
    """Answers updates and patches (or the given verbs) with 409, as if another client had written first."""

    usual_verbs = ("update", "patch")

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer."""
        wanted = asked.attributes
        qualified = f"{wanted.plural}.{wanted.group}" if wanted.group else wanted.plural
        text = f'Operation cannot be fulfilled on {qualified} "{wanted.name}": {OBJECT_MODIFIED}'
        pairs = (("name", wanted.name), ("group", wanted.group), ("kind", wanted.plural))
        return StatusError(failure(409, "Conflict", text, details={k: v for k, v in pairs if v}))

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return whether the request writes objects."""
        return bool(asked.attributes.plural) and asked.verb in WRITES


class Deny(Refusal, frozen=True, kw_only=True, tag="deny"):
    """Answers requests with 403, as if no role allowed them."""

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer."""
        return forbidden_access(asked.user, asked.attributes)

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return whether the request is for a resource."""
        return bool(asked.attributes.plural)


class Latency(Fault, frozen=True, kw_only=True, tag="latency"):
    """Delays requests before they are carried out, by delay_seconds plus up to jitter_seconds."""

    delay_seconds: Seconds
    jitter_seconds: Seconds = 0.0


class LoseAnswer(Fault, frozen=True, kw_only=True, tag="lose-answer"):
    """Breaks the connection without an answer. If executed is true, the request is carried out first."""

    usual_verbs = WRITES
    executed: bool = True


class Silence(WatchFault, frozen=True, kw_only=True, tag="silence"):
    """
    Simulates a half-open connection, which stays open but delivers no more bytes.

    By default, it hits watches, which continue when the fault is cleared. It can also hit other verbs, whose
    requests never get an answer. executed is true if these requests are carried out.
    """

    lasting = True
    executed: bool = True

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return true, because every request can be left unanswered."""
        del asked
        return True


class DropWatch(WatchFault, frozen=True, kw_only=True, tag="drop-watch"):
    """Ends watches: normally, by a FIN without the last chunk (`cut`), or by a RST (`reset`)."""

    how: Literal["end", "cut", "reset"] = "end"


class DelayWatch(WatchFault, frozen=True, kw_only=True, tag="delay-watch"):
    """Delays watch events by delay_seconds or, if that is None, until the fault is cleared."""

    lasting = True
    delay_seconds: Seconds | None = None


class DistortWatch(WatchFault, frozen=True, kw_only=True, tag="distort-watch"):
    """
    Sends watch events twice, in reverse order, not at all, or as invalid bytes.

    `reverse` reverses the order of lines that are sent together. The others distort each line separately.
    """

    lasting = True
    how: Literal["repeat", "reverse", "lose", "garble"] = "repeat"


class Expire(WatchFault, frozen=True, kw_only=True, tag="expire"):
    """
    Answers resumed watches and further pages of lists with 410, as if their resource version were too old.

    An open or resumed watch sends an ERROR watch event and ends. If as_status is true, open watches are not
    hit, and resumed watches are answered with HTTP status 410.
    """

    usual_verbs = ("list", "watch")
    as_status: bool = False

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return whether the request is a watch, or fetches a further page of a list."""
        return asked.continued if asked.verb == "list" else asked.verb == "watch"

    def status(self, asked: RequestAttributes) -> StatusError:
        """Return the answer for a request that is refused with HTTP status 410."""
        return expired(_EXPIRED_LIST) if asked.verb == "list" else StatusError(self.error_status(asked))

    @staticmethod
    def error_status(asked: RequestAttributes) -> dict[str, object]:
        """Return the Status of the ERROR watch event."""
        version = asked.resource_version
        asked_for = int(version) if version.isascii() and version.isdigit() else 0
        return too_old(asked_for, asked_for + 1)


class Lag(WatchFault, frozen=True, kw_only=True, tag="lag"):
    """
    Answers reads from an old state: the state `changes` changes ago or, by default, when the fault began.

    Reads without a resource version still see the current state, because a real server with a lagging watch
    cache answers them from etcd. With consistent_reads, they see the old state too. Watches also lag, unless
    the fault has a count.
    """

    usual_verbs = ("get", "list", "watch")
    lasting = True
    changes: Number | None = None
    consistent_reads: bool = False

    def concerns(self, asked: RequestAttributes) -> bool:
        """Return whether the request reads objects."""
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
"""Any kind of fault. In JSON, the member `fault` contains the kind's tag."""
