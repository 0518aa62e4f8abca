"""A model of an API server with one kind, for informers that hold some slots of it, on virtual threads."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.shard_selector import fnv1a_64
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.client.errors import StreamClosed
from handloop.client.options import ListOptions
from handloop.seams.clock import Clock
from support.builders.deployments import bookmark, deployment


class Change(NamedTuple):
    """One step of the server's history."""

    version: int
    at: float
    before: Deployment | None
    after: Deployment | None


class ShardedServer:
    """
    Implements handloop.informers.listwatch.ListerWatcher. It selects by label and namespace as every server.

    Its watch cache is lag_seconds behind. Watches come from there, and so does a list that has a resource
    version: it is not older than that.
    Fields: obeys = it narrows by UID; objects, as they are; requests, all so far.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        step: Callable[[], None] = lambda: None,
        supports_watch_list: bool = False,
        obeys: bool = False,
        lag_seconds: float = 0.0,
    ) -> None:
        """Args: step is called in each request."""
        self.clock = clock
        self.supports_watch_list = supports_watch_list
        self.obeys = obeys
        self.lag_seconds = lag_seconds
        self.version = 10
        self.objects: dict[str, Deployment] = {}
        self.requests: list[ListOptions] = []
        self._made = 0
        self._history: list[Change] = []
        self._step = step

    def put(self, name: str, *, namespace: str, labels: Mapping[str, str] | None = None) -> None:
        """Create or change an object. Each that is made has a UID of its own."""
        before = self.objects.get(name)
        self._made += before is None
        uid = before.metadata.uid if before else f"{self._made * 7919}-uid"
        after = deployment(name, self.version + 1, namespace=namespace, uid=uid, labels=labels)
        self._changed(before, after)
        self.objects[name] = after

    def delete(self, name: str) -> None:
        """Delete an object."""
        self._changed(self.objects.pop(name), None)

    def _changed(self, before: Deployment | None, after: Deployment | None) -> None:
        self.version += 1
        self._history.append(Change(self.version, self.clock.now(), before, after))

    def list(self, options: ListOptions) -> ListPage[Deployment]:
        """One page."""
        self.requests.append(options)
        self._step()
        selects = self.selector(options)
        version = self.version
        if options.resource_version:
            version = max(int(options.resource_version), self.cached_version())
        return ListPage([obj for obj in self.objects_at(version) if selects(obj)], str(version))

    def watch(self, options: ListOptions) -> Stream:
        """A stream; one that begins with what is there has the newest, or what its version asks for."""
        self.requests.append(options)
        self._step()
        return Stream(self, options)

    def cached_version(self) -> int:
        """The newest version in the watch cache."""
        seen = self.clock.now() - self.lag_seconds
        return max((one.version for one in self._history if one.at <= seen), default=10)

    def objects_at(self, version: int) -> Iterator[Deployment]:
        """What was there at a version."""
        found = dict(self.objects)
        for change in reversed(self._history):
            if change.version <= version:
                break
            if change.after is not None:
                found.pop(change.after.metadata.name)
            if change.before is not None:
                found[change.before.metadata.name] = change.before
        yield from found.values()

    def changes_after(self, version: int) -> Iterator[Change]:
        """Those that the watch cache has."""
        cached = self.cached_version()
        return (one for one in self._history if version < one.version <= cached)

    def selector(self, options: ListOptions) -> Callable[[Deployment], bool]:
        """Whether a request is for an object."""
        ranges = [
            (int(a, 16), int(b, 16)) for a, b in re.findall(r"'(0x\w+)', '(0x\w+)'", options.shard_selector)
        ]
        foreign = re.findall(r"metadata.namespace!=([\w-]+)", options.field_selector)
        labels = re.findall(r"\d", options.label_selector)

        def selects(obj: Deployment) -> bool:
            hashed = fnv1a_64(obj.metadata.uid)
            return (
                (not ranges or not self.obeys or any(start <= hashed < end for start, end in ranges))
                and obj.metadata.namespace not in foreign
                and (not labels or obj.metadata.labels.get("handloop.dev/slot") in labels)
            )

        return selects


class Stream:
    """A watch; it may begin with the objects there are."""

    def __init__(self, server: ShardedServer, options: ListOptions) -> None:
        self._server = server
        self._selects = server.selector(options)
        self._closed = threading.Event()
        self._seen = int(options.resource_version or 0)
        self._initial: list[WatchEvent[Deployment]] = []
        if options.send_initial_events:
            newest = max(self._seen, server.cached_version()) if self._seen else server.version
            objects = [obj for obj in server.objects_at(newest) if self._selects(obj)]
            self._initial = [WatchEvent(EventType.ADDED, obj) for obj in objects]
            self._initial.append(bookmark(newest, ends_list=True))
            self._seen = newest

    def read(self) -> list[WatchEvent[Deployment]]:
        """The next events. Blocks: until there are some."""
        while True:
            if self._closed.is_set():
                raise StreamClosed("closed from this side")
            if self._initial:
                events, self._initial = self._initial[:3], self._initial[3:]
                return events
            changes = [*self._server.changes_after(self._seen)][:3]
            self._seen = changes[-1].version if changes else self._seen
            if events := [event for change in changes if (event := self._event(change)) is not None]:
                return events
            if not changes:
                self._server.clock.sleep(0.05, self._closed)

    def close(self) -> None:
        """End read."""
        self._closed.set()

    def _event(self, change: Change) -> WatchEvent[Deployment] | None:
        """As the server has it: an object that no longer fits is DELETED, in its former state."""
        before = change.before if change.before is not None and self._selects(change.before) else None
        after = change.after if change.after is not None and self._selects(change.after) else None
        if after is not None:
            return WatchEvent(EventType.ADDED if before is None else EventType.MODIFIED, after)
        if before is None:
            return None
        former = deployment(
            before.metadata.name,
            change.version,
            namespace=before.metadata.namespace,
            uid=before.metadata.uid,
            labels=before.metadata.labels,
        )
        return WatchEvent(EventType.DELETED, former)
