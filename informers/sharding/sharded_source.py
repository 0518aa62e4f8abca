"""
The source of an informer that holds only the objects in this process's slots.

Objects in other slots are *foreign*. Each list and watch requests only our slots. If a kind is sharded by
label, the server sends no foreign objects. If it is sharded by namespace, the server leaves out the foreign
namespaces that are already known here. If it is sharded by UID, only a server with the feature
ShardedListAndWatch leaves out foreign objects, and its responses rarely show that it does: in 1.36.3, only a
list of a built-in kind has shardInfo. For kinds sharded by namespace or UID, the slot of each arriving object
is therefore checked:

    no foreign object has arrived   pages and blocks are decoded whole, as without shards
    a foreign object has arrived    metadata is decoded first, and the rest only for our objects

If the kind is sharded by UID, the second state ends once many of our objects, and no foreign object, have
arrived since a list started: a server that sends all objects would hardly do that by chance. If the kind is
sharded by namespace, the second state ends with the next request, which excludes the new namespace.

When a slot is released, no request is sent. The slot's objects that still arrive are dropped like foreign
ones. If the server refuses the selector, the selector is not sent again.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from msgspec.structs import replace

from handloop.apis.meta import Kind
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.sieve import Foreign
from handloop.client.decoding.watch_stream import Bookmark, WatchEvent
from handloop.client.errors import APIError
from handloop.client.options import ListOptions
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.listwatch import ListerWatcher, Watch
from handloop.informers.sharding.held_slots import Held
from handloop.informers.sharding.shard_scope import ShardScope
from handloop.seams.clock import Clock
from handloop.seams.logs import get_logger

log = get_logger("informers")

T = TypeVar("T", bound=Kind)
R = TypeVar("R")

SETTLE_SECONDS: Final = 0.2
"""Slots that are added within this time share one list."""

# Version 1.36.3 returns 500 "invalid shard selector: ...", although a server should return 400.
_REFUSALS: Final = (400, 500)
_CHANCE: Final = 0.001
"""Below this probability, the absence of foreign objects is no longer attributed to chance."""


class SlotSieve:
    """
    Drops foreign objects, and finds out whether the server leaves them out. Implements Sieve.

    State:
        sent     the slots of the last request.
        found    what keeps foreign objects out, as in SlotRestriction.narrowed_by; "" before the first list.
        came     whether a foreign object has arrived since the last list request or, if the kind is sharded
                 by namespace, since the last list or watch request.
        refused  whether the server refuses the selector.
        _ours    the UIDs of our objects that have arrived since the last list request; None while they need
                 not be counted.
        _chance  how likely it is that no foreign object would have arrived so far if the server sent all
                 objects.
    Threads: runs on the reflector's thread; any thread can read found.
    """

    def __init__(self, scope: ShardScope, metrics: InformerMetrics) -> None:
        self._scope = scope
        self._metrics = metrics
        self.sent: frozenset[int] = frozenset()
        self.metadata_first = False
        self.came = False
        self.found = ""
        self.refused = False
        self._ours: set[str] | None = None
        self._chance = 1.0

    def keeps(self, namespace: str, uid: str) -> bool:
        """
        Return whether the object's slot is held.

        If the slot is not held and was not requested, the object is recorded as foreign.
        """
        if self._scope.by == "namespace":
            self._scope.held.namespaces.meet(namespace)
        slot = self._scope.slot_of(namespace, uid, {})
        if slot in self._scope.held.now.since:
            if self._ours is not None and slot in self.sent:
                self._count(self._ours, uid)
            return True
        self.metadata_first = True
        if slot not in self.sent:
            self.came, self._ours = True, None
            if self._scope.by == "namespace":
                self._scope.held.namespaces.dropped(namespace)
            else:
                self._tell("client")
        return False

    def begin(self, slots: frozenset[int], *, anew: bool) -> None:
        """Record a request for slots. Args: anew is True to forget which objects have arrived before."""
        self.sent = slots
        self.metadata_first = self.found == "client"
        self.came = self.came and not anew
        is_known = self.came or self.refused or self.found == "server"
        if self._scope.by == "namespace" or is_known or len(slots) == self._scope.held.count:
            self._ours = None
        elif anew or self._ours is None:
            self._ours, self._chance = set(), 1.0

    def list_complete(self, *, narrowed: bool = False) -> None:
        """
        Record that a list is complete.

        Args: narrowed is True if the server reports that it left objects out.
        """
        if self._scope.by == "namespace":
            self._tell("client" if self._scope.held.namespaces.are_too_many else "fields")
        elif narrowed:
            self._prove()
        elif not self.found:
            self._tell("unknown")

    def refuse(self) -> None:
        """Record that the server refuses the selector. Requests without it return foreign objects, too."""
        self.refused = self.metadata_first = True
        self._tell("client")

    def _count(self, ours: set[str], uid: str) -> None:
        """
        Count an object in one of our slots.

        If many of them arrive, but no foreign object, the server probably leaves foreign objects out.
        """
        if uid not in ours:
            ours.add(uid)
            self._chance *= len(self.sent) / self._scope.held.count
            if self._chance < _CHANCE:
                self._prove()

    def _prove(self) -> None:
        self._ours, self.metadata_first = None, False
        self._tell("server")

    def _tell(self, found: str) -> None:
        if found != self.found:  # this runs for each foreign object
            self.found = found
            self._metrics.drops_foreign.set(found == "client")


class ShardedSource(Generic[T]):
    """
    Restricts another source to the slots that are held. Implements ListerWatcher.

    State: asked contains the slots of the last list; _fields is the field selector of the last request.
    Threads: runs on the reflector's thread. Any thread can use must_list, is_empty and wake, and read asked,
    which is replaced and never modified in place.
    """

    def __init__(
        self,
        source: ListerWatcher[T],
        scope: ShardScope,
        *,
        metrics: InformerMetrics,
        name: str,
        clock: Clock,
    ) -> None:
        """Args: name is the reflector's name, for the log."""
        self.scope = scope
        self._source = source
        self._name = name
        self._clock = clock
        self._woken = threading.Event()
        self._fields = ""
        self._sieve = SlotSieve(scope, metrics)
        self.asked = Held(0, {})

    @property
    def supports_watch_list(self) -> bool:
        """See ListerWatcher."""
        return self._source.supports_watch_list

    @property
    def sharded_by(self) -> str:
        """See SlotRestriction.narrowed_by."""
        return "labels" if self.scope.by == "label" else self._sieve.found

    @property
    def is_empty(self) -> bool:
        """Return whether no slot is held. If so, no request may be sent to the server."""
        return not self.scope.held.now.since

    @property
    def must_list(self) -> bool:
        """Return whether no slot is held, or the last list did not request all held slots."""
        now, asked = self.scope.held.now.since, self.asked.since
        return not now or any(asked.get(slot) != since for slot, since in now.items())

    @property
    def is_wide(self) -> bool:
        """Return True if foreign objects have arrived that a new watch's field selector would exclude."""
        return self._sieve.came and self._narrowed(ListOptions()).field_selector != self._fields

    def wake(self) -> None:
        """Make wait() check again, because the slots have changed or the reflector was stopped."""
        self._woken.set()

    def wait(self, stopped: threading.Event) -> None:
        """Wait until a slot is held, or until wake is called after stopped was set."""
        while True:
            self._woken.clear()
            # wake is called after the slots have changed or stopped is set.
            if not self.is_empty or stopped.is_set():
                return
            self._clock.sleep(math.inf, self._woken)

    def before_list(self, stopped: threading.Event) -> bool:
        """
        Make the next list request the held slots, including any that are added within SETTLE_SECONDS.

        Returns: False if stopped, or if no slot is held after that time.
        """
        if self.must_list and self._clock.sleep(SETTLE_SECONDS, stopped):
            return False
        self.asked = self.scope.held.now
        return bool(self.asked.since)  # not is_empty, as a slot may have been added since

    def list(self, options: ListOptions) -> ListPage[T]:
        """See ListerWatcher."""
        page = self._request(self._source.list, options)
        if not page.narrowed and self.scope.by != "label":
            items = [obj for obj in page.items if self._sieve.keeps(obj.metadata.namespace, obj.metadata.uid)]
            page = dataclasses.replace(page, items=items)
        if not page.continue_token:
            self._sieve.list_complete(narrowed=page.narrowed)
        return page

    def watch(self, options: ListOptions) -> Watch[T]:
        """See ListerWatcher."""
        watch = self._request(self._source.watch, options)
        return watch if self.scope.by == "label" else _SiftedWatch(watch, self._sieve)

    def _request(self, send: Callable[[ListOptions], R], options: ListOptions) -> R:
        narrowed = self._narrowed(options)
        self._fields = narrowed.field_selector
        is_list = not narrowed.allow_watch_bookmarks or narrowed.send_initial_events
        anew = is_list or self.scope.by == "namespace"
        self._sieve.begin(self._slots(), anew=anew and not options.continue_token)
        try:
            return send(narrowed)
        except APIError as error:
            if not narrowed.shard_selector or not _refuses_selector(error):
                raise
            log.warning("The server refuses the shard selector", reflector=self._name, err=str(error))
        self._sieve.refuse()
        return send(self._narrowed(options))

    def _narrowed(self, options: ListOptions) -> ListOptions:
        if self.scope.by != "label":
            options = replace(options, sieve=self._sieve)
        return options if self._sieve.refused else self.scope.narrowed(options, self._slots())

    def _slots(self) -> frozenset[int]:
        """Return which slots of the last list are still held, or all its slots if none of them is held."""
        asked, now = self.asked.since, self.scope.held.now.since
        return frozenset(slot for slot in asked if slot in now) or frozenset(asked)


def _refuses_selector(error: APIError) -> bool:
    return error.code in _REFUSALS and "shard selector" in error.status.message.lower()


class _SiftedWatch(Generic[T]):
    """A watch that drops foreign objects unless its decoder has already dropped them."""

    def __init__(self, watch: Watch[T], sieve: SlotSieve) -> None:
        self._watch = watch
        self._sieve = sieve

    def read(self) -> list[WatchEvent[T]]:
        """See Watch."""
        events, keeps = self._watch.read(), self._sieve.keeps
        for position, (event_type, obj) in enumerate(events):
            if isinstance(obj, Kind):
                if not keeps(obj.metadata.namespace, obj.metadata.uid):
                    events[position] = WatchEvent(event_type, Foreign(obj.metadata.resource_version))
            elif isinstance(obj, Bookmark) and obj.ends_initial_events:
                self._sieve.list_complete()
        return events

    def close(self) -> None:
        """See Watch."""
        self._watch.close()
