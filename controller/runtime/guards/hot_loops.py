"""
Slow down the reconciles of a name that keep writing, and log once which fields keep changing.

If a controller and a rival, such as another controller, want different values in one field, they undo each
other's writes at full speed, and every write succeeds. A reconcile that writes a time or a random value also
loops, because its own write triggers it again.

    50 reconciles of a name write within 10 s --> the next one waits 1 s, then 2 s, 4 s, ... up to 30 s
    after the first wait --> GET the object once, and log the fields that a rival has changed
    if no rival has changed any --> log the fields that differ between two of our own writes

A rival can be slower, for example by reacting only every two seconds. Its changes are recognized by our
repeated writes: if a write changes something although it repeats our last write to that object, then that
last write was undone. A name also becomes hot if thirty of its reconciles within ten minutes repeat an undone
write.

A reconcile that writes only statuses, after another object has changed, counts as a tenth of a reconcile and
does not lengthen the wait. A rollout causes many of them, and so do two controllers that react to each
other's statuses. A name's count is reset once its wait has passed, and another minute has passed without a
write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from handloop.client.decoding.json_text import pruning
from handloop.client.errors import ClientError, NotFound
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.runtime.guards.name_table import NameTable
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger

log = get_logger("hotloops")

HOT_WRITES: Final = 50
HOT_SECONDS: Final = 10.0
SLOW_WRITES: Final = 30
SLOW_SECONDS: Final = 600.0
FIRST_SECONDS: Final = 1.0
MAX_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 60.0

_TENTHS: Final = 10
_MOST_FIELDS: Final = 5
_MOST_SENT: Final = 20
_OF_EVERY_WRITE: Final = frozenset({"managedFields", "resourceVersion", "generation"})
_RIVAL: Final = "another writer undoes it: let only one of the two write these fields"
_RESTLESS: Final = (
    "write only what the object's spec asks for, not a time or a random value, and do not write the spec"
)


class Write(NamedTuple):
    """
    A write that the server has accepted.

    Fields: call, the request; answer, the response body; target, the written object's name; subresource;
    done, a verb such as "updated"; idle, True if the write changed nothing. An idle write is not counted.
    """

    call: Call
    answer: bytes
    target: ObjectName
    subresource: str
    done: str
    idle: bool = False

    def __str__(self) -> str:
        return f"{self.call.resource} {self.target} {self.done}"


class _Pace(NamedTuple):
    """
    How often a name's reconciles write.

    Fields: since, the time at which the count began or, for a hot name, the time of its last write; tenths,
    the count in tenths of a reconcile; wait_seconds, how long a hot name waits after its last write, or 0 if
    it is not hot; last, the writes that made the name hot, or () once their cause has been logged.
    """

    since: float
    tenths: int = 0
    wait_seconds: float = 0.0
    last: Sequence[Write] = ()


class _Undone(NamedTuple):
    """
    How many reconciles of a name have repeated an undone write.

    Fields: since, the time at which the count began; times, the count; sent, the recent writes, each with a
    hash of its content.
    """

    since: float
    times: int = 0
    sent: Mapping[str, int] = MappingProxyType({})


class HotLoops:
    """
    Counts the writes of one controller's reconciles, for each name.

    State: _paces and _undone, which store the most recently written names.
    Threads: workers, each for the name that it is working on.
    """

    def __init__(
        self, client: Client, *, slowed: Callable[[], None] = lambda: None, clock: Clock = REAL_CLOCK
    ) -> None:
        """Args: slowed is called whenever a name becomes hot."""
        self._client = client
        self._slowed = slowed
        self._clock = clock
        self._paces: NameTable[_Pace] = NameTable()
        self._undone: NameTable[_Undone] = NameTable()

    def wrote(self, name: ObjectName, writes: Sequence[Write], *, follows: bool = False) -> None:
        """
        Count the writes of a reconcile that has ended.

        Args: follows is True if the reconcile wrote only statuses, after another object changed.
        """
        now = self._clock.now()
        before = self._paces.get(name) or _Pace(now)
        pace = _after(before, now, writes, follows=follows)
        if not follows and self._is_undone(name, now, writes) and not pace.wait_seconds:
            pace = _Pace(now, wait_seconds=FIRST_SECONDS, last=writes)
        self._paces.put(name, pace)
        if pace.wait_seconds and not before.wait_seconds:
            self._slowed()
        if before.last and pace.wait_seconds:
            earlier = {(write.target, write.call.path): write.answer for write in before.last}
            places = [(write, (write.target, write.call.path)) for write in writes]
            # The reconciles of a name can write several objects. Compare only writes to the same object.
            pairs = [(write, earlier[place]) for write, place in places if place in earlier] or [
                (write, b"{}") for write in writes
            ]
            fields = [field for write, answer in pairs for field in _differences(write, _decoded(answer))]
            fix = _RESTLESS if fields else _RIVAL
            _tell(name, writes, fields, {_manager(write) for write in writes}, fix=fix)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Forget the names that are gone."""
        self._paces.forget_names(gone)
        self._undone.forget_names(gone)

    def seconds_to_wait(self, name: ObjectName) -> float:
        """Return how many seconds the name must wait, or 0. Blocks: for GETs if the name is hot."""
        pace = self._paces.get(name)
        if pace is None or not pace.wait_seconds:
            return 0.0
        left = pace.since + pace.wait_seconds - self._clock.now()
        is_hot = -QUIET_SECONDS < left <= 0  # a name that has cooled down needs no GET
        if is_hot and pace.last and any(self._has_rival(name, write) for write in pace.last):
            self._paces.put(name, pace._replace(last=()))
        return max(0.0, left)

    def _is_undone(self, name: ObjectName, now: float, writes: Sequence[Write]) -> bool:
        """Count a reconcile that repeats an undone write. Return True if the count makes the name hot."""
        before = self._undone.get(name) or _Undone(now)
        if now - before.since > SLOW_SECONDS:
            before = before._replace(since=now, times=0)
        sent = {str(write): _content(write) for write in writes if not write.idle}
        times = before.times + (not sent.items().isdisjoint(before.sent.items()))
        # The count over ten seconds detects faster loops, and its report names the fields that change.
        enough = times >= SLOW_WRITES and now - before.since > HOT_SECONDS
        kept = [*{**before.sent, **sent}.items()][-_MOST_SENT:]
        self._undone.put(name, before._replace(times=0 if enough else times, sent=dict(kept)))
        return enough

    def _has_rival(self, name: ObjectName, write: Write) -> bool:
        """Return whether a rival has changed fields that we wrote. If so, log them once."""
        try:
            live = _decoded(self._client.send(_get_of(write)).body)
        except NotFound:
            live = {}
        except ClientError:
            return False
        fields = list(_differences(write, live))
        if fields:
            _tell(name, [write], fields, {_manager(write)} | _managers_since(write, live), fix=_RIVAL)
        return bool(fields)


def _after(before: _Pace, now: float, writes: Sequence[Write], *, follows: bool) -> _Pace:
    """Return the pace of a name after one more of its reconciles has written."""
    if now - before.since > (before.wait_seconds + QUIET_SECONDS if before.wait_seconds else HOT_SECONDS):
        before = _Pace(now)
    if before.wait_seconds:
        longer = before.wait_seconds if follows else min(2 * before.wait_seconds, MAX_SECONDS)
        return _Pace(now, wait_seconds=longer)
    tenths = before.tenths + (1 if follows else _TENTHS)
    if tenths < HOT_WRITES * _TENTHS:
        return before._replace(tenths=tenths)
    return _Pace(now, wait_seconds=FIRST_SECONDS, last=writes)


def _tell(
    name: ObjectName, writes: Sequence[Write], fields: list[str], managers: set[str], *, fix: str
) -> None:
    log.warning(
        "Reconciles keep writing, slowing them down",
        object=name,
        writes="; ".join(map(str, writes)),
        fields=", ".join([*dict.fromkeys(fields)][:_MOST_FIELDS]),
        managers=", ".join(sorted(managers - {""})),
        fix=fix,
        once=True,
    )


def _get_of(write: Write) -> Call:
    """Return the GET request for the object that was written."""
    call, name = write.call, write.target.name
    path = call.path.removesuffix(f"/{write.subresource}") if call.name else f"{call.path}/{quote(name)}"
    return call._replace(verb="get", method="GET", path=path, query={}, headers={}, body=None, name=name)


def _content(write: Write) -> int:
    """Return a hash of the sent object, without the metadata that differs in every write."""
    sent = _decoded(write.call.body or b"")
    if isinstance(sent, dict) and isinstance(metadata := sent.get("metadata"), dict):
        rest = {key: value for key, value in metadata.items() if key not in _OF_EVERY_WRITE}
        sent = {**sent, "metadata": rest}
    return hash(msgspec.json.encode(sent, order="sorted"))


def _manager(write: Write) -> str:
    return write.call.query.get("fieldManager", "")


def _managers_since(write: Write, live: Any) -> set[str]:
    """Return the managers whose managedFields entries differ between a write's response and live."""
    before, after = (
        each.get("metadata", {}).get("managedFields") or [] for each in (_decoded(write.answer), live)
    )
    changed = [each for each in (*before, *after) if (each in before) != (each in after)]
    # An entry without a manager stands for a writer that did not send its name.
    return {each.get("manager", "") for each in changed if each.get("subresource", "") == write.subresource}


def _differences(write: Write, other: Any) -> Iterator[str]:
    """Return the paths of the written fields that differ in value from other. The values may be secret."""
    stored = _decoded(write.answer)
    if write.call.method == "DELETE" or not other:
        is_back_or_gone = bool(other) == (write.call.method == "DELETE")
        return iter(("the whole object",) if is_back_or_gone else ())
    sent = _decoded(write.call.body or b"") or None
    if write.subresource and isinstance(sent, dict):
        sent = {write.subresource: sent.get(write.subresource)}
    return _paths(sent, stored, other)


def _paths(sent: Any, stored: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which stored and other differ, and at which the write sent a value."""
    if isinstance(stored, dict) and isinstance(other, dict):
        for key in sent if isinstance(sent, dict) else stored:
            if path != "metadata" or key not in _OF_EVERY_WRITE:
                below = sent[key] if isinstance(sent, dict) else None
                yield from _paths(below, stored.get(key), other.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(stored, list) and isinstance(other, list) and len(stored) == len(other):
        for i, pair in enumerate(zip(stored, other, strict=True)):
            yield from _paths(None, *pair, f"{path}[{i}]")
    elif stored != other:
        yield path


def _decoded(body: bytes) -> Any:
    """Return the body decoded from JSON, or {} if the body is YAML or empty."""
    try:
        return pruning(msgspec.json.decode)(body)
    except ValueError:  # msgspec's errors and UnicodeDecodeError
        return {}
