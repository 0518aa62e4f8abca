"""
Finding who changes cached objects.

Our own types cannot be changed; types of others, such as plain dicts, can. The detector keeps the state each
object had when it came and compares from time to time: for tests and debugging, since it costs a copy of all.
Follows: client-go tools/cache/mutation_detector.go.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, TypeVar

import msgspec
import structlog

from informers.keys import CacheError, DeletedFinalStateUnknown
from workqueue.clock import REAL_CLOCK, Clock
from workqueue.locks import new_lock

log = structlog.get_logger("mutation_detector")

T = TypeVar("T")

ENVIRONMENT_VARIABLE: Final = "KUBE_CACHE_MUTATION_DETECTOR"
_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))

PERIOD_SECONDS: Final = 1.0
RETAIN_SECONDS: Final = 120.0


class CacheMutated(CacheError):  # noqa: N818 - says what happened
    """A cached object was changed by somebody."""


def is_mutation_detection_on(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for detectors."""
    return environ.get(ENVIRONMENT_VARIABLE, "") in _TRUE


def encoded_state(obj: object) -> Hashable:
    """
    All of an object's state as bytes, for objects made of structs, containers, values and plain attributes.

    Raises: TypeError for what cannot be encoded.
    """
    return msgspec.msgpack.encode(obj, enc_hook=_state)


def _raise(message: str) -> None:
    raise CacheMutated(message)


class MutationDetector(Generic[T]):
    """
    Watches the objects it was given for changes, each for RETAIN_SECONDS to twice that.

    State, guarded by _lock:
        _young, _old    (object, its state when it came); _old is checked and then forgotten at a rotation.
        _rotated_at     when _young became _old, or the start.
    """

    def __init__(
        self,
        name: str,
        *,
        on_mutation: Callable[[str], None] = _raise,
        state_of: Callable[[T], Hashable] = encoded_state,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """
        Make a detector for the cache called name.

        Args: on_mutation gets the message, and raises CacheMutated by default; state_of returns nothing that
            changes with the object.
        """
        self._lock = new_lock("MutationDetector._lock", 95)
        self._young: list[tuple[T, Hashable]] = []
        self._old: list[tuple[T, Hashable]] = []
        self._rotated_at = clock.now()
        self._name = name
        self._on_mutation = on_mutation
        self._state_of = state_of
        self._clock = clock

    def add_object(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Watch an object from here on; tombstones are ignored.

        Raises: what state_of raises.
        """
        if isinstance(obj, DeletedFinalStateUnknown):
            return
        entry = obj, self._state_of(obj)
        with self._lock:
            self._young.append(entry)

    def run(self, stop: threading.Event) -> None:
        """
        Compare every PERIOD_SECONDS.

        Blocks: until stop is set.
        Raises: what on_mutation raises.
        """
        self.compare_objects()
        while not self._clock.sleep(PERIOD_SECONDS, stop):
            self.compare_objects()

    def compare_objects(self) -> None:
        """
        Report if any watched object has changed.

        Raises: what on_mutation raises.
        """
        watched = self._rotate()
        mutated = [obj for obj, state in watched if self._state_of(obj) != state]
        for obj in mutated:
            log.error("Cached object was changed", cache=self._name, type=type(obj).__name__)
        if mutated:
            self._on_mutation(f"cache {self._name} modified")

    def _rotate(self) -> list[tuple[T, Hashable]]:
        """What is to be compared, after which the oldest are forgotten when their time has come."""
        with self._lock:
            watched = self._old + self._young
            if self._clock.now() - self._rotated_at > RETAIN_SECONDS:
                self._old, self._young = self._young, []
                self._rotated_at = self._clock.now()
            return watched


def _state(obj: object) -> object:
    return obj.__getstate__()
