"""
The parts of a running program that the live page shows, and that the page's controls change.

This is the page's only module that uses private fields. No public interface provides their values.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Final, NamedTuple, TypeAlias, cast

from handloop.controller.foo.controller import FooController
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.runnable import PlainFooRunnable
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.informers.keys import ObjectName
from handloop.informers.processor import ProcessorListener
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import Queue
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue

Work: TypeAlias = RateLimitingQueue[ObjectName] | PriorityQueue[ObjectName]


_WAITS: Final = frozenset(
    method.__code__ for method in (Queue._wait_for_item_locked, PriorityQueue._wait_for_item_locked)
)


class Method(NamedTuple):
    """An instance and the name of one of its methods. A control of the page can wrap the method."""

    owner: Any
    name: str


class ThreadFrame(NamedTuple):
    """A thread's name and innermost frame. The frame is None if the thread does not have one yet."""

    name: str
    frame: FrameType | None


class Parts:
    """
    The parts of a running program: its manager, and its controllers by name.

    Threads: usable from any thread. Every call looks up a hand-written controller again, because such a
    controller exists only while it runs.
    """

    def __init__(self, manager: Manager, controllers: Mapping[str, object]) -> None:
        self.manager: Final = manager
        self._controllers = dict(controllers)

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Return all informers."""
        return self.manager.informers()

    def namespace_of(self, informer: SharedIndexInformer[Any]) -> str:
        """Return the namespace that an informer caches; "" means all namespaces."""
        return informer._namespace

    def listeners(self, plural: str) -> list[ProcessorListener[Any]]:
        """Return the listeners of a kind's informers."""
        return [
            listener
            for informer in self.informers()
            if informer.kind.resource.plural == plural
            for listener in informer._processor.listeners()
        ]

    def queues(self) -> dict[str, Work]:
        """Return the work queues by controller name."""
        found = {name: _queue_of(controller) for name, controller in self._controllers.items()}
        return {name: queue for name, queue in found.items() if queue is not None}

    def says(self, controller: str, name: ObjectName) -> str:
        """Return the first sentence that `why` gives for an object, or "" if the name is not known."""
        explain = getattr(self._controllers[controller], "explain", None)
        found = None if explain is None else explain(name)
        return "" if found is None or not found.known else found.says[0]

    def foo_controller(self) -> str:
        """Return which Foo controller runs, `plain` or `production`, or "" if none runs yet."""
        foos = self._foos()
        if foos is None:
            return ""
        return "production" if isinstance(foos, ProductionFooController) else "plain"

    def foreign_listeners(self) -> set[str]:
        """Return the names of listeners that do not call the Foo controller, or none if it is not running."""
        foos = self._foos()
        return {
            listener.name
            for informer in self.informers()
            for listener in informer._processor.listeners()
            if foos is not None and not _calls(handler_of(listener), foos)
        }

    def _foos(self) -> FooController | None:
        found = (one.controller for one in self._controllers.values() if isinstance(one, PlainFooRunnable))
        return next(found, None)

    def syncs(self) -> dict[str, Method]:
        """Return, by controller name, the method that a worker calls with an object's name."""
        found = {name: _sync_of(controller) for name, controller in self._controllers.items()}
        return {name: method for name, method in found.items() if method is not None}


def _calls(handler: Any, owner: object) -> bool:
    """Return whether a handler calls methods of owner. A handler may be wrapped by one that slows it down."""
    functions = getattr(getattr(handler, "_handler", handler), "functions", ())
    return any(getattr(function, "__self__", None) is owner for function in functions)


def _queue_of(controller: object) -> Work | None:
    if isinstance(controller, Controller):
        return controller.queue._queue
    if isinstance(controller, PlainFooRunnable) and controller.controller is not None:
        return controller.controller._workqueue
    return None


def _sync_of(controller: object) -> Method | None:
    if isinstance(controller, Controller):
        return Method(controller._reconciler, "reconcile")
    if isinstance(controller, PlainFooRunnable) and controller.controller is not None:
        return Method(controller.controller, "sync_handler")
    return None


class HeldContainer:
    """
    Wraps a held queue's container, and makes the container appear empty.

    A worker that requests an item therefore waits until the queue is released, even if items are added.
    Locks: all methods are called with the queue's lock held.
    """

    def __init__(self, container: Any) -> None:
        self._container = container

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return len(self._container)

    def __contains__(self, item: object) -> bool:
        return item in self._container

    def __iter__(self) -> Iterator[Any]:
        return iter(self._container)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)


def hold(queue: Work) -> None:
    """Hand out no more items."""
    with queue._lock:
        if not isinstance(queue._container, HeldContainer):
            queue._container = cast("Any", HeldContainer(queue._container))


def release(queue: Work) -> None:
    """Hand out items again."""
    with queue._lock:
        if isinstance(queue._container, HeldContainer):
            queue._container = queue._container._container
            queue._item_ready.notify_all()


def is_held(queue: Work) -> bool:
    """Return whether the queue is held. A held queue gives no items to workers."""
    return isinstance(queue._container, HeldContainer)


def real_threads() -> list[ThreadFrame]:
    """Return the threads of this process."""
    frames = sys._current_frames()
    return [ThreadFrame(one.name, frames.get(one.ident or 0)) for one in threading.enumerate()]


def waits_for_key(frame: FrameType | None) -> bool:
    """Return whether the thread with this frame waits in a queue's get()."""
    while frame is not None and frame.f_code not in _WAITS:
        frame = frame.f_back
    return frame is not None


def oldest_seconds(queue: Work) -> float | None:
    """Return how long the oldest key has been queued or processed, or None without keys or metrics."""
    metrics = queue._metrics
    if metrics is None:
        return None
    with queue._lock:
        since = min((*metrics._added_at.values(), *metrics._started_at.values()), default=None)
    return None if since is None else metrics._clock.now() - since


def handler_of(listener: ProcessorListener[Any]) -> Any:
    """What the listener calls."""
    return listener._handler


def set_handler(listener: ProcessorListener[Any], handler: Any) -> None:
    """Make the listener call another handler, starting with its next batch."""
    listener._handler = handler
