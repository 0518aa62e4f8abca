"""
A source of objects that a test programs: it can page, drop, expire, refuse, reorder, and lie.

`FakeListerWatcher` plays a script: each list and each watch takes the next answer. `FakeSource` has a state
and a history, and answers as a server would, unless a scripted answer comes first.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeAlias, TypeVar

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.client.errors import APIError, ConnectionBroken, StreamClosed
from handloop.client.options import ListOptions
from support.builders.deployments import added, at_version, bookmark
from support.checks.api_errors import api_error

T = TypeVar("T")

_HARD_LIMIT_SECONDS = 30.0

Action: TypeAlias = Callable[[], None]


def expired() -> APIError:
    """410 as a list or watch gets it."""
    return api_error(410, "Expired", "too old resource version")


def gone() -> APIError:
    """410 in its other spelling."""
    return api_error(410, "Gone", "too old resource version")


def too_large() -> APIError:
    """504 with the cause that the resource version is from the future."""
    return api_error(504, "Timeout", "Timeout: Too large resource version", cause="ResourceVersionTooLarge")


def too_many_requests(*, retry_after: float | None = None) -> APIError:
    """429."""
    return api_error(429, "TooManyRequests", "too many requests", retry_after_seconds=retry_after)


def internal_error() -> APIError:
    """500."""
    return api_error(500, "InternalError", "internal error")


class FakeWatch(Generic[T]):
    """
    A stream that a test writes: blocks of events, an end, an error, or an action to run before the next.

    Reading past the written bytes blocks until more are written, or the stream is closed.
    """

    def __init__(self, *script: list[WatchEvent[T]] | Exception | Action | None) -> None:
        self._changed = threading.Condition()
        self._script: deque[list[WatchEvent[T]] | Exception | Action | None] = deque(script)
        self.closes = 0
        self.reads = 0

    def send(self, *events: WatchEvent[T]) -> FakeWatch[T]:
        """Write one block."""
        return self._write(list(events))

    def end(self) -> FakeWatch[T]:
        """Write the clean end."""
        return self._write(None)

    def fail(self, error: Exception) -> FakeWatch[T]:
        """Write a failure."""
        return self._write(error)

    def then(self, action: Action) -> FakeWatch[T]:
        """Run action when the reader gets there."""
        return self._write(action)

    @property
    def is_closed(self) -> bool:
        """Whether the reader has closed it."""
        with self._changed:
            return self.closes > 0

    def read(self) -> list[WatchEvent[T]]:
        """The next block; [] at the end."""
        with self._changed:
            self.reads += 1
        while True:
            step = self._next()
            if callable(step):
                step()
            elif step is None:
                return []
            elif isinstance(step, Exception):
                raise step
            else:
                return step

    def close(self) -> None:
        """End the stream."""
        with self._changed:
            self.closes += 1
            self._changed.notify_all()

    def _write(self, step: list[WatchEvent[T]] | Exception | Action | None) -> FakeWatch[T]:
        with self._changed:
            self._script.append(step)
            self._changed.notify_all()
        return self

    def _next(self) -> list[WatchEvent[T]] | Exception | Action | None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._script or self.closes, _HARD_LIMIT_SECONDS):
                raise AssertionError("a watch was read for 30 s without anything to read")
            if self.closes:
                return StreamClosed("closed from this side")
            return self._script.popleft()


ListAnswer: TypeAlias = ListPage[Deployment] | Exception | Callable[[ListOptions], ListPage[Deployment]]
WatchAnswer: TypeAlias = FakeWatch[Deployment] | Exception | Callable[[ListOptions], FakeWatch[Deployment]]


def page(*items: Deployment, rv: str | int = "1", token: str | None = None) -> ListPage[Deployment]:
    """A list page."""
    return ListPage(list(items), str(rv), token)


class FakeListerWatcher:
    """
    Plays scripted answers in order and records what it was asked.

    At the end of the script `every_list` and `every_watch` answer, if set; else the test fails.
    """

    def __init__(
        self,
        *,
        lists: Sequence[ListAnswer] = (),
        watches: Sequence[WatchAnswer] = (),
        supports_watch_list: bool = False,
    ) -> None:
        self._supports_watch_list = supports_watch_list
        self.lists: deque[ListAnswer] = deque(lists)
        self.watches: deque[WatchAnswer] = deque(watches)
        self.every_list: ListAnswer | None = None
        self.every_watch: WatchAnswer | None = None
        self.list_options: list[ListOptions] = []
        self.watch_options: list[ListOptions] = []

    @property
    def supports_watch_list(self) -> bool:
        return self._supports_watch_list

    def list(self, options: ListOptions) -> ListPage[Deployment]:
        self.list_options.append(options)
        answer = self.lists.popleft() if self.lists else self.every_list or self.unscripted_list
        if isinstance(answer, Exception):
            raise answer
        return answer(options) if callable(answer) else answer

    def watch(self, options: ListOptions) -> FakeWatch[Deployment]:
        self.watch_options.append(options)
        answer = self.watches.popleft() if self.watches else self.every_watch or self.unscripted_watch
        if isinstance(answer, Exception):
            raise answer
        return answer(options) if callable(answer) else answer

    def unscripted_list(self, options: ListOptions) -> ListPage[Deployment]:
        raise AssertionError(f"unexpected list: {options}")

    def unscripted_watch(self, options: ListOptions) -> FakeWatch[Deployment]:
        raise AssertionError(f"unexpected watch: {options}")


class FakeSource(FakeListerWatcher):
    """
    A small server: objects, a history, open watches.

    Every change gets the next resource version and goes to all open watches as one block.
    """

    def __init__(self, *objects: Deployment, rv: int = 1, supports_watch_list: bool = False) -> None:
        super().__init__(supports_watch_list=supports_watch_list)
        self._lock = threading.RLock()
        self._rv = rv
        self._compacted = 0
        self._objects = {obj.metadata.name: at_version(obj, rv) for obj in objects}
        self._history: list[tuple[int, WatchEvent[Deployment]]] = []
        self._snapshots: dict[str, tuple[int, list[Deployment]]] = {}
        self._open: list[FakeWatch[Deployment]] = []
        self._held: list[WatchEvent[Deployment]] | None = None

    @property
    def rv(self) -> str:
        """The newest resource version."""
        with self._lock:
            return str(self._rv)

    def objects(self) -> dict[str, Deployment]:
        """What there is, by name."""
        with self._lock:
            return dict(self._objects)

    def open_watches(self) -> list[FakeWatch[Deployment]]:
        """The streams that are still open."""
        with self._lock:
            return [watch for watch in self._open if not watch.is_closed]

    def add(self, obj: Deployment) -> Deployment:
        """Create an object."""
        return self._change(EventType.ADDED, obj)

    def modify(self, obj: Deployment) -> Deployment:
        """Change an object."""
        return self._change(EventType.MODIFIED, obj)

    def delete(self, name: str) -> Deployment:
        """Delete an object."""
        return self._change(EventType.DELETED, self._objects[name])

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Within, no open watch gets changes; afterwards they are compacted away."""
        with self._lock:
            watches, self._open = self._open, []
            yield
            self._open = watches
            self.compact()

    def hold(self) -> None:
        """Keep the events from here on back, until release."""
        with self._lock:
            self._held = []

    def release(
        self, *, order: Callable[[list[WatchEvent[Deployment]]], list[WatchEvent[Deployment]]]
    ) -> None:
        """Send the events that were held back, as one block in another order."""
        with self._lock:
            held, self._held = self._held or [], None
            self._send(order(held))

    def compact(self) -> None:
        """Forget the history: a watch or a continue token from before is expired."""
        with self._lock:
            self._compacted = self._rv
            self._history.clear()
            self._snapshots.clear()

    def drop_watches(self, error: Exception | None = None) -> None:
        """Cut all streams; with an ERROR event if error is an APIError."""
        cut = error or ConnectionBroken("connection reset by peer")
        with self._lock:
            watches, self._open = self._open, []
        for watch in watches:
            if isinstance(cut, APIError):
                watch.send(WatchEvent(EventType.ERROR, cut))
            else:
                watch.fail(cut)

    def unscripted_list(self, options: ListOptions) -> ListPage[Deployment]:
        with self._lock:
            if options.continue_token:
                if options.continue_token not in self._snapshots:
                    raise expired()
                rv, items = self._snapshots[options.continue_token]
            else:
                if options.resource_version and int(options.resource_version) > self._rv:
                    raise too_large()
                rv, items = self._rv, [self._objects[name] for name in sorted(self._objects)]
            limit = options.limit or len(items)
            shown, rest = items[:limit], items[limit:]
            token = f"{rv}:{len(rest)}" if rest else None
            if token:
                self._snapshots[token] = (rv, rest)
            return ListPage(shown, str(rv), token, len(rest) or None)

    def unscripted_watch(self, options: ListOptions) -> FakeWatch[Deployment]:
        with self._lock:
            watch: FakeWatch[Deployment] = FakeWatch()
            if options.send_initial_events:
                initial = [added(self._objects[name]) for name in sorted(self._objects)]
                watch.send(*initial, bookmark(self._rv, ends_list=True))
            else:
                since = int(options.resource_version or 0)
                if since < self._compacted:
                    raise expired()
                missed = [event for rv, event in self._history if rv > since]
                if missed:
                    watch.send(*missed)
            self._open.append(watch)
            return watch

    def _change(self, event_type: EventType, obj: Deployment) -> Deployment:
        with self._lock:
            self._rv += 1
            obj = at_version(obj, self._rv)
            if event_type is EventType.DELETED:
                del self._objects[obj.metadata.name]
            else:
                self._objects[obj.metadata.name] = obj
            event: WatchEvent[Deployment] = WatchEvent(event_type, obj)
            self._history.append((self._rv, event))
            if self._held is not None:
                self._held.append(event)
            else:
                self._send([event])
            return obj

    def _send(self, events: list[WatchEvent[Deployment]]) -> None:
        for watch in self._open:
            watch.send(*events)
