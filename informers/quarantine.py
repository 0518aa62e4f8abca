"""
Objects that exist on the server and do not fit their type: kept out of the store, counted, said once.

The store holds neither an undecodable object nor its former state: a controller must not act on a copy that
no longer describes the object. So such an object leaves the store with a tombstone, as if its deletion had
been missed, and comes back with an add once it fits again. To tell the two apart, ask `is_quarantined` or
register with `on_undecodable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from handloop.client.decoding.pages import Undecodable
from handloop.informers.informer_metrics import Gauge
from handloop.informers.keys import ObjectName
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("informers")

UndecodableCallback = Callable[[Undecodable], None]
"""
Called once per object and resource version, on the reflector thread. On registration it is also called for
the objects already held, on the registering thread. Must not block.
"""


class Quarantine:
    """
    The objects of one informer that do not fit.

    State: _held = store key -> the object that did not fit; the reflector thread writes it.
    Threads: callbacks are added and questions asked from any.
    """

    def __init__(self, *, kind: str, gauge: Gauge) -> None:
        self._kind = kind
        self._gauge = gauge
        self._lock = new_lock("Quarantine._lock", 96)
        self._held: dict[str, Undecodable] = {}
        self._callbacks: list[UndecodableCallback] = []

    def __len__(self) -> int:
        with self._lock:
            return len(self._held)

    def is_quarantined(self, key: str) -> bool:
        """Whether the object of that store key exists and does not fit."""
        with self._lock:
            return key in self._held

    def keys(self) -> list[str]:
        """Store keys, sorted."""
        with self._lock:
            return sorted(self._held)

    def on_undecodable(self, callback: UndecodableCallback) -> None:
        """Call callback for every object that is held, and for those to come."""
        with self._lock:
            # in one step: from here on, add calls the callback
            self._callbacks.append(callback)
            held = tuple(self._held.values())
        for undecodable in held:
            self._call(callback, undecodable)

    def add(self, undecodable: Undecodable) -> None:
        """Hold an object; log and call back unless this very version is already held."""
        key = store_key(undecodable)
        with self._lock:
            before = self._held.get(key)
            known = before is not None and before.resource_version == undecodable.resource_version
            self._held[key] = undecodable
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
        )
        for callback in callbacks:
            self._call(callback, undecodable)

    def release(self, keys: Iterable[str]) -> None:
        """The objects of these keys fit again, or are gone."""
        with self._lock:
            released = [key for key in keys if self._held.pop(key, None) is not None]
            count = len(self._held)
        if released:
            self._gauge.set(count)
            for key in released:
                log.info("Object no longer in quarantine", kind=self._kind, key=key)

    def replace(self, undecodables: Iterable[Undecodable]) -> None:
        """A list was complete: hold exactly these."""
        wanted = {store_key(undecodable): undecodable for undecodable in undecodables}
        with self._lock:
            gone = [key for key in self._held if key not in wanted]
        self.release(gone)
        for undecodable in wanted.values():
            self.add(undecodable)

    def _call(self, callback: UndecodableCallback, undecodable: Undecodable) -> None:
        try:
            callback(undecodable)
        except Exception as error:
            log.exception("Callback for an undecodable object failed", kind=self._kind, err=repr(error))


def store_key(undecodable: Undecodable) -> str:
    """The key that the object would have in the store."""
    return str(ObjectName(undecodable.key_namespace, undecodable.key_name))
