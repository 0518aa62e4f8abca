"""
A store that forgets: what is older than its time to live is as good as absent.

Follows: client-go tools/cache/expiration_cache.go.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from handloop.informers.keys import KeyFunc, StoreKeyError
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock

T = TypeVar("T")


class TTLPolicy(NamedTuple):
    """How long an entry lives, in seconds; 0 or less for ever."""

    ttl_seconds: float
    clock: Clock = REAL_CLOCK

    def is_expired(self, stamped_at: float) -> bool:
        """Whether an entry of that time is older than its time to live; at exactly that age it is not."""
        return self.ttl_seconds > 0 and self.clock.now() - stamped_at > self.ttl_seconds


class ExpirationStore(Generic[T]):
    """
    Objects by key, each with the time it was put in.

    Expiry is lazy: an expired entry goes when it is looked at. list_keys does not look.

    State, guarded by _lock: _entries, key -> (object, when it was put in).
    """

    def __init__(self, key_func: KeyFunc, policy: TTLPolicy) -> None:
        self._lock = new_lock("ExpirationStore._lock", 95)
        self._entries: dict[str, tuple[T, float]] = {}
        self._key_func = key_func
        self._policy = policy

    def add(self, obj: T) -> None:
        """
        Put obj in, stamped anew.

        Raises: StoreKeyError.
        """
        key = self._key(obj)
        with self._lock:
            self._entries[key] = obj, self._policy.clock.now()

    def update(self, obj: T) -> None:
        """
        Put obj in, stamped anew.

        Raises: StoreKeyError.
        """
        self.add(obj)

    def delete(self, obj: T) -> None:
        """
        Take out what has the key of obj, if anything.

        Raises: StoreKeyError.
        """
        key = self._key(obj)
        with self._lock:
            self._entries.pop(key, None)

    def get(self, obj: T) -> T | None:
        """
        The live object with the key of obj, or None.

        Raises: StoreKeyError.
        """
        return self.get_by_key(self._key(obj))

    def get_by_key(self, key: str) -> T | None:
        """The live object with this key, or None."""
        with self._lock:
            return self._live_locked(key)

    def list(self) -> list[T]:
        """All live objects."""
        with self._lock:
            live = [self._live_locked(key) for key in list(self._entries)]
        return [obj for obj in live if obj is not None]

    def list_keys(self) -> builtins.list[str]:
        """All keys, those of expired entries too."""
        with self._lock:
            return list(self._entries)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:  # noqa: ARG002 - a store's signature
        """
        Hold exactly objects, all of one time.

        Raises: StoreKeyError; nothing is changed then.
        """
        now = self._policy.clock.now()
        entries = {self._key(obj): (obj, now) for obj in objects}
        with self._lock:
            self._entries = entries

    def _key(self, obj: T) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise StoreKeyError(obj, error) from error

    def _live_locked(self, key: str) -> T | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        obj, stamped_at = entry
        if self._policy.is_expired(stamped_at):
            del self._entries[key]
            return None
        return obj
