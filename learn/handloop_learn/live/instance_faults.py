"""
Causes failures in this process on demand, by wrapping methods of running instances.

Each wrapper is an attribute of one instance, and restore() removes it. The instances need no hooks for this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from handloop.controller.runtime.reconcile import ReconcileError
from handloop.picture.parts import Method, Parts, handler_of, hold, is_held, release, set_handler
from handloop.seams.locks import new_lock


class AskedForError(ReconcileError):
    """A failure that a viewer requested on the live page."""


class InstanceFaults:
    """
    The faults of one program.

    State, under _lock (99): _failures maps (controller, key) to the number of syncs that will still fail.
    _kept contains the items whose done() was skipped, each with the queue's real done. _lose_next contains
    each (controller, key) whose next done() will be left out. _wrapped contains the wrapped methods, and
    _slowed each slowed listener with its original handler.
    Threads: any thread can call the methods.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts: Final = parts
        self._lock = new_lock("InstanceFaults._lock", 99)
        self._failures: dict[tuple[str, str], int] = {}
        self._lose_next: set[tuple[str, str]] = set()
        self._kept: list[tuple[Callable[[Any], None], Any]] = []
        self._wrapped: list[Method] = []
        self._slowed: list[tuple[Any, Any]] = []
        self._awake = threading.Event()

    def pause(self) -> None:
        """Stop giving keys to workers. Running syncs continue to their end."""
        for queue in self._parts.queues().values():
            hold(queue)

    def resume(self) -> None:
        """Give keys to workers again."""
        for queue in self._parts.queues().values():
            release(queue)

    @property
    def paused(self) -> bool:
        """Whether the workers are paused."""
        return any(map(is_held, self._parts.queues().values()))

    def fail(self, controller: str, key: str, count: int) -> None:
        """Make the next count syncs of a key fail. Raises: KeyError if the controller does not exist."""
        self._wrap(self._parts.syncs()[controller], partial(self._sync, controller))
        with self._lock:
            self._failures[controller, key] = count

    def slow(self, plural: str, seconds: float) -> None:
        """Delay each call of a kind's event handlers by this many seconds."""
        self.hasten()
        self._awake = threading.Event()
        for listener in self._parts.listeners(plural):
            own = handler_of(listener)
            set_handler(listener, SlowHandler(own, seconds, self._awake))
            with self._lock:
                self._slowed.append((listener, own))

    def hasten(self) -> None:
        """Stop delaying the event handlers. A call that is being delayed continues at once."""
        with self._lock:
            slowed, self._slowed = self._slowed, []
        for listener, own in slowed:
            set_handler(listener, own)
        self._awake.set()

    @property
    def slowed(self) -> bool:
        """Whether any handlers are being delayed."""
        with self._lock:
            return bool(self._slowed)

    def lose_done(self, controller: str, key: str) -> None:
        """Skip the next done() of a key. Raises: KeyError if the controller does not exist."""
        queue = self._parts.queues()[controller]
        self._wrap(Method(queue, "done"), partial(self._done, controller))
        with self._lock:
            self._lose_next.add((controller, key))

    def catch_up_on_done(self) -> None:
        """Call each done() that was skipped, and skip no more."""
        with self._lock:
            kept, self._kept = self._kept, []
            self._lose_next.clear()
        for done, item in kept:
            done(item)

    @property
    def lost(self) -> bool:
        """Whether a done() has been or will be left out."""
        with self._lock:
            return bool(self._kept or self._lose_next)

    def restore(self) -> None:
        """Undo all faults."""
        self.resume()
        self.hasten()
        self.catch_up_on_done()
        with self._lock:
            wrapped, self._wrapped = self._wrapped, []
            self._failures.clear()
        for owner, name in wrapped:
            vars(owner).pop(name, None)

    def _wrap(self, method: Method, around: Callable[..., Any]) -> None:
        """Replace one instance's method by around(original, *arguments), unless it is replaced already."""
        with self._lock:
            if method not in self._wrapped:
                vars(method.owner)[method.name] = partial(around, getattr(*method))
                self._wrapped.append(method)

    def _sync(self, controller: str, sync: Callable[..., Any], name: Any, *rest: Any) -> Any:
        with self._lock:
            left = self._failures.get((controller, str(name)), 0)
            if left:
                self._failures[controller, str(name)] = left - 1
        if left:
            raise AskedForError("a failure was requested on the live page")
        return sync(name, *rest)

    def _done(self, controller: str, done: Callable[[Any], None], item: Any) -> None:
        with self._lock:
            if (controller, str(item)) in self._lose_next:
                self._lose_next.remove((controller, str(item)))
                self._kept.append((done, item))
                return
        done(item)


class SlowHandler:
    """Calls another handler after a delay, which awake ends early. Threads: runs on the listener's thread."""

    def __init__(self, handler: Any, seconds: float, awake: threading.Event) -> None:
        self._handler = handler
        self._seconds = seconds
        self._awake = awake

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        """Call the handler's on_add after the delay."""
        self._awake.wait(self._seconds)
        self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        """Call the handler's on_update after the delay."""
        self._awake.wait(self._seconds)
        self._handler.on_update(old, new)

    def on_delete(self, obj: Any) -> None:
        """Call the handler's on_delete after the delay."""
        self._awake.wait(self._seconds)
        self._handler.on_delete(obj)
