"""Keeps objects that exist but do not fit their type out of the cache, and records their names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from handloop.client.decoding.pages import Undecodable
from handloop.informers.keys import (
    ObjectName,
)
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.workqueue.queue_metrics import SettableGaugeMetric

log = get_logger("informers")

UndecodableCallback = Callable[[Undecodable], None]
"""
Called once for each object and resource version, on the reflector thread. When it is registered, it is also
called for the objects that are already held, on the registering thread. It must not block.
"""


class Quarantine:
    """
    The objects of one informer that exist on the server but do not fit their type.

    They are kept out of the store, counted, and logged once. The store contains neither such an object nor
    its earlier state, because a controller must not act on an outdated copy. The object therefore leaves the
    store with a tombstone, as if its deletion had been missed, and is added again once it fits its type. To
    distinguish such an object from a deleted one, call `is_quarantined` or register with `on_undecodable`.

    State: _held maps store keys to the objects that do not fit. _mended contains the keys of objects that
    fit again, but may still wait in the FIFO. Only the reflector thread changes _held and _mended.
    Threads: any thread can add callbacks and query objects.
    """

    def __init__(
        self, *, kind: str, gauge: SettableGaugeMetric, in_store: Callable[[str], bool] = lambda _: True
    ) -> None:
        """Args: in_store returns whether the store contains an object with the given key."""
        self._kind = kind
        self._gauge = gauge
        self._in_store = in_store
        self._lock = new_lock("Quarantine._lock", 96)
        self._held: dict[str, Undecodable] = {}
        self._mended: set[str] = set()
        self._callbacks: list[UndecodableCallback] = []

    def __len__(self) -> int:
        with self._lock:
            return len(self._held)

    def is_quarantined(self, key: str) -> bool:
        """Return True if this key's object does not fit its type, or fits again but is still in the FIFO."""
        with self._lock:
            held, mended = key in self._held, key in self._mended
        return held or (mended and not self._in_store(key))

    def is_idle(self) -> bool:
        """Return True if no object is in the quarantine or on its way back to the store."""
        with self._lock:
            return not self._held and not self._mended

    def keys(self) -> list[str]:
        """Return the store keys of the quarantined objects, sorted."""
        with self._lock:
            return sorted(self._held)

    def on_undecodable(self, callback: UndecodableCallback) -> None:
        """Call callback for every object that is in the quarantine now, or enters it later."""
        with self._lock:
            # From now on, add calls the callback.
            self._callbacks.append(callback)
            held = tuple(self._held.values())
        for undecodable in held:
            self._call(callback, undecodable)

    def add(self, undecodable: Undecodable) -> None:
        """Quarantine an object. Log it and call the callbacks, once for each of its resource versions."""
        key = store_key(undecodable)
        with self._lock:
            before = self._held.get(key)
            known = before is not None and before.resource_version == undecodable.resource_version
            self._held[key] = undecodable
            self._mended.discard(key)
            callbacks = () if known else tuple(self._callbacks)
            count = len(self._held)
        if known:
            return
        self._gauge.set(count)
        log.error(
            "Object does not fit its type and is kept out of the cache",
            kind=self._kind,
            key=key,
            resourceVersion=undecodable.resource_version,
            err=undecodable.error,
            once=True,
        )
        for callback in callbacks:
            self._call(callback, undecodable)

    def release(self, keys: Iterable[str], *, mended: Container[str] = ()) -> None:
        """
        Release the objects with these keys, because they now fit their type or no longer exist.

        Args: mended contains the keys of objects that fit their type and were put into the FIFO.
        """
        # Only this thread writes _mended. The store has its own lock, so query it without holding ours.
        arrived = {key for key in self._mended if self._in_store(key)}
        with self._lock:
            self._mended -= arrived
            released = []
            for key in keys:
                was_held = self._held.pop(key, None) is not None
                if was_held:
                    released.append(key)
                if key not in mended:
                    self._mended.discard(key)
                elif was_held:
                    self._mended.add(key)
            count = len(self._held)
        if released:
            self._gauge.set(count)
            for key in released:
                log.info("Object no longer in quarantine", kind=self._kind, key=key)

    def forget(self, foreign: Callable[[Undecodable], bool]) -> None:
        """Release the objects that now belong to another process."""
        with self._lock:
            gone = [key for key, each in self._held.items() if foreign(each)]
        self.release(gone)

    def replace(self, undecodables: Iterable[Undecodable], *, mended: Container[str] = ()) -> None:
        """
        Replace the content with those objects of a complete list that do not fit their type.

        Args: mended has the same meaning as in release.
        """
        wanted = {store_key(undecodable): undecodable for undecodable in undecodables}
        with self._lock:
            others = [key for key in {*self._held, *self._mended} if key not in wanted]
        self.release(others, mended=mended)
        for undecodable in wanted.values():
            self.add(undecodable)

    def _call(self, callback: UndecodableCallback, undecodable: Undecodable) -> None:
        try:
            callback(undecodable)
        except BaseException as error:
            log.exception(
                "Callback for an undecodable object failed", kind=self._kind, err=in_words(error, repr)
            )


def store_key(undecodable: Undecodable) -> str:
    """Return the key that the object would have in the store."""
    return str(ObjectName(undecodable.key_namespace, undecodable.key_name))
