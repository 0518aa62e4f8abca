"""
Watches: streams of changes to which clients subscribe.

A Subscription is a client's request. A Watcher is one stream's position in the history. A change does not
wake watchers. Instead, the sandbox's driver asks each of them for the lines that it has not sent yet. After a
burst of changes, each watcher is thus asked once, not once per change.
Follows: apiserver pkg/storage/cacher (synthetic ADDED watch events, selector transitions, bookmarks),
pkg/endpoints/handlers/watch.go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object, Stored
from handloop_sandbox.wire.conversion import ConversionFailedError, ConversionNeededError
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status, failure

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
_BEFORE_TIMEOUT_SECONDS: Final = 2.0
# After this time, a bookmark is sent even without a change. A real API server sends one only for a version
# newer than the watch's start. It soon has one, because leases are renewed. The sandbox renews no leases.
_REPEAT_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 1.0
_END: Final = b"}\n"

BATCH: Final = 128
"""
The most objects or changes that a watch takes at a time, so that many watches that start at the same time do
not fill the memory.
"""


class WatchedObject(Protocol):
    """Encodes the object of a watch event. first is True for the first event of a stream."""

    def watched(self, stored: Stored, now: float, *, first: bool) -> bytes:
        """Return the object's JSON."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """
    A client's request to watch.

    position is where the watch starts in the history. initial holds the objects to send first, as ADDED, and
    after_initial requests a bookmark after them. convert converts objects into the watched version with a
    webhook, or is None if they need no conversion. refusal ends the stream immediately with an ERROR watch
    event. Changes up to the resource version silent_until are not sent. deadline is a unix time.
    """

    group_resource: GroupResource
    namespace: str
    matches: Callable[[Object], bool] | None
    presentation: WatchedObject
    bookmark_object: Object
    position: int
    rv: int
    deadline: float
    bookmarks: bool = False
    initial: Sequence[Stored] = ()
    after_initial: bool = False
    refusal: Status | None = None
    silent_until: int = 0
    convert: Callable[[Sequence[Stored]], Sequence[Stored]] | None = None


class Watcher:
    """
    One open watch.

    State: _opened is the number of initial objects sent, and _started whether all have been sent. _position
    is the next change to read, _seen_rv the newest version read, and _known_rv the newest version sent to the
    client. _told_at is the time of the last line sent. After a failed conversion, _again_at is the time of
    the next attempt, and the watch sends nothing until one succeeds.
    Threads: every call is made with the engine's lock held.
    """

    def __init__(
        self, subscription: Subscription, state: State, *, bookmark_seconds: float, now: float
    ) -> None:
        self.subscription = subscription
        self.ended = False
        self._collection = state.collection(subscription.group_resource)
        self._history = self._collection.history
        self._state = state
        self._position = subscription.position
        self._seen_rv = self._known_rv = subscription.rv
        self._told_at = now
        self._again_at: float | None = None
        self._first = True
        self._opened = 0
        self._started = False
        self._bookmark_seconds = bookmark_seconds
        self._next_bookmark = self._bookmark_after(now)

    def take(self, now: float, *, up_to: int | None = None) -> list[bytes]:
        """
        Return the next lines that are due, oldest first. Set `ended` if they are the last ones.

        If fewer than BATCH lines are returned, no more are due, except those that need a conversion first.
        Args: up_to is the newest version to send, or None for all.
        Raises: ConversionNeededError if the webhook must be called first. The caller then calls prepare().
        """
        if self.ended:
            return []
        lines = [] if self._started else self._opening(now)
        if self._started and not self.ended:
            lines += self._changes(now, up_to)
            lines += self._periodic_bookmark(now, up_to)
        if now >= self.subscription.deadline or (self._is_replaced() and self._has_told_all(up_to)):
            self.ended = True
        return lines

    def prepare(self, now: float) -> None:
        """
        Convert the objects that take() needs next. Raises: ConversionNeededError if the webhook must be
        called.
        """
        changes = self._history.read(self._position, limit=BATCH) or []
        self._again_at = None
        try:
            self._in_version(changes)
        except ConversionFailedError:
            if not self._converted_first(changes):
                self._again_at = now + _RETRY_SECONDS

    def is_due(self, now: float, *, up_to: int | None = None) -> bool:
        """Return whether take() has anything to do."""
        if self.ended:
            return False
        if self._again_at is not None:
            return now >= self.next_wake()
        return not self._has_told_all(up_to) or self._is_replaced() or now >= self.next_wake()

    def next_wake(self) -> float:
        """Return the unix time at which the watch has something to do even if no object changes."""
        wake = self.subscription.deadline
        if self._next_bookmark is not None:
            wake = min(wake, self._next_bookmark)
        return wake if self._again_at is None else min(wake, self._again_at)

    def _has_told_all(self, up_to: int | None) -> bool:
        end = self._history.end if up_to is None else self._history.position_after(up_to)
        return self._started and self._position >= end

    def _is_replaced(self) -> bool:
        return self._history is not self._collection.history

    def _opening(self, now: float) -> list[bytes]:
        subscription = self.subscription
        if subscription.refusal is not None:
            self.ended = self._started = True
            return [error_line(subscription.refusal)]
        batch = subscription.initial[self._opened : self._opened + BATCH]
        lines = [self._line(ChangeType.ADDED, stored, now) for stored in batch]
        self._opened += len(batch)
        self._started = self._opened == len(subscription.initial)
        if self._started and subscription.after_initial:
            lines.append(self._bookmark(now, subscription.rv, {INITIAL_EVENTS_END: "true"}))
        return lines

    def _changes(self, now: float, up_to: int | None) -> list[bytes]:
        lines: list[bytes] = []
        while len(lines) < BATCH:
            changes = self._history.read(self._position, limit=BATCH)
            if changes is None:
                self.ended = True
                return [*lines, error_line(too_old(self._seen_rv, self._history.floor))]
            if up_to is not None:
                changes = [change for change in changes if change.rv <= up_to]
            if not changes or (self._again_at is not None and now < self._again_at):
                break
            try:
                changes = self._in_version(changes)
            except ConversionNeededError:
                changes = self._converted_first(changes)
                if not changes:
                    if lines:
                        break  # they go first
                    raise
            self._again_at = None
            self._position += len(changes)
            self._seen_rv = max(self._seen_rv, changes[-1].rv)
            seen = (self._seen(change, now) for change in changes)
            lines += [line for line in seen if line is not None]
        return lines

    def _converted_first(self, changes: Sequence[Change]) -> list[Change]:
        """Return the converted changes that precede the first unconverted one."""
        found: list[Change] = []
        with contextlib.suppress(ConversionNeededError, ConversionFailedError):
            for change in changes:
                found += self._in_version([change])
        return found

    def _in_version(self, changes: list[Change]) -> list[Change]:
        """
        Return the changes in the watched version.

        Raises: ConversionNeededError if the webhook must be called; ConversionFailedError if it failed.
        """
        convert = self.subscription.convert
        if convert is None:
            return changes
        old = [change.old for change in changes if change.old is not None]
        made = convert([*(change.new for change in changes), *old])
        new, before = iter(made), iter(made[len(changes) :])
        return [
            Change(change.type, change.group_resource, new=next(new), old=change.old and next(before))
            for change in changes
        ]

    def _seen(self, change: Change, now: float) -> bytes | None:
        """Return the line for a change, or None if the change is not sent to this client."""
        subscription = self.subscription
        if subscription.namespace and change.namespace != subscription.namespace:
            return None
        if change.rv <= subscription.silent_until:
            return None
        matches = subscription.matches
        if matches is None:
            return self._line(change.type, change.new, now)
        return self._transition(change, matches, now)

    def _transition(self, change: Change, matches: Callable[[Object], bool], now: float) -> bytes | None:
        was = change.old is not None and matches(change.old.object)
        is_ = change.type is not ChangeType.DELETED and matches(change.new.object)
        if is_:
            kind = ChangeType.MODIFIED if was else ChangeType.ADDED
            return self._line(kind, change.new, now)
        if not was or change.old is None:
            return None
        # The object no longer matches the selector, so its last matching state is sent with the version of
        # the change.
        last = change.new if change.type is ChangeType.DELETED else _at_version(change.old, change.rv)
        return self._line(ChangeType.DELETED, last, now)

    def _line(self, kind: str, stored: Stored, now: float) -> bytes:
        content = self.subscription.presentation.watched(stored, now, first=self._first)
        self._first = False
        self._known_rv = max(self._known_rv, stored.rv)
        self._told_at = now
        return b"".join((_OPENINGS[kind], content, _END))

    def _periodic_bookmark(self, now: float, up_to: int | None) -> list[bytes]:
        if self.ended or self._next_bookmark is None or now < self._next_bookmark:
            return []
        self._next_bookmark = self._bookmark_after(now)
        if self._again_at is not None:
            return []
        newest = self._state.resource_version
        newest = newest if up_to is None else min(newest, up_to)
        news = newest > self._known_rv or now >= self._told_at + _REPEAT_SECONDS
        if not news or newest < self._known_rv or self.subscription.silent_until > newest:
            return []
        return [self._bookmark(now, newest, {})]

    def _bookmark(self, now: float, rv: int, annotations: dict[str, str]) -> bytes:
        metadata: Object = {"resourceVersion": str(rv)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {**self.subscription.bookmark_object, "metadata": metadata}
        return self._line("BOOKMARK", Stored(obj, rv), now)

    def _bookmark_after(self, now: float) -> float | None:
        """Return the time of the next bookmark. The last one is sent shortly before the stream ends."""
        if not self.subscription.bookmarks:
            return None
        last = self.subscription.deadline - _BEFORE_TIMEOUT_SECONDS
        regular = now + self._bookmark_seconds
        return min(regular, last) if last > now else regular


_OPENINGS: Final = {
    kind: f'{{"type":"{kind}","object":'.encode()
    for kind in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
}


def error_line(status: Status) -> bytes:
    """Return an ERROR watch event."""
    return b"".join((_OPENINGS["ERROR"], msgspec.json.encode(status), _END))


def too_old(rv: int, oldest: int) -> Status:
    """Return the Status for a watch that needs changes older than the history."""
    return failure(410, "Expired", f"too old resource version: {rv} ({oldest})")


def _at_version(stored: Stored, rv: int) -> Stored:
    obj = stored.object
    return Stored({**obj, "metadata": {**obj["metadata"], "resourceVersion": str(rv)}}, rv)
