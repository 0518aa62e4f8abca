"""
Work that waits until a webhook has converted objects. No webhook is called with the engine's lock held.
Instead, the work is repeated from the start each time, with the same time, the same random numbers, and all
conversions that are known by then. A request is completed in its own thread; watches, controllers and caches
leave their work for settle().
"""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar

from handloop_sandbox.converters import Converters, ConvertFunction
from handloop_sandbox.custom.conversion_webhook import Target
from handloop_sandbox.requests.request import Context, User
from handloop_sandbox.storage.state import State
from handloop_sandbox.wire.conversion import Answers, ConversionNeededError, Known

T = TypeVar("T")
_ATTEMPTS: Final = 50


@dataclass(slots=True)
class Work(Generic[T]):
    """
    A piece of work: what to do, for which user, at what time, and with which random numbers.

    known holds the answers so far, needed is the conversion to request next, and target its webhook.
    is_taken tells whether a thread is completing the work.
    """

    run: Callable[[Context], T]
    user: User
    now: float
    seed: int
    known: Answers = field(default_factory=dict)
    needed: ConversionNeededError | None = None
    target: Target | None = None
    is_taken: bool = False


class ConversionWork:
    """
    Completes work by asking webhooks for the conversions that it needs.

    State: known holds the answers for the current work; _left is the work that nobody waits for. Threads:
    any. Locks: the engine's lock protects all of it.
    """

    def __init__(
        self,
        functions: Mapping[str, ConvertFunction],
        *,
        lock: threading.Lock,
        state: State,
        context: Callable[[User], Context],
    ) -> None:
        self.known = Known()
        self._converters = Converters(functions)
        self._lock = lock
        self._state = state
        self._context = context
        self._left: dict[object, Work[Any]] = {}

    def new(self, run: Callable[[Context], T], user: User) -> Work[T]:
        """Create work. Locks: the engine's lock is held."""
        context = self._context(user)
        return Work(run, user, context.now, context.random.getrandbits(64))

    def attempt(self, work: Work[T]) -> T | None:
        """
        Do work with the known answers, and set its needed if they do not suffice.

        Locks: the engine's lock is held.
        """
        chance = random.Random(work.seed)
        context = self._context(work.user)._replace(
            now=work.now, random=chance, new_uid=partial(new_uid, chance)
        )
        self.known.answers, work.needed = work.known, None
        try:
            return work.run(context)
        except ConversionNeededError as needed:
            work.needed, work.target = needed, self._converters.target(self._state, needed)
            return None
        finally:
            self.known.answers = {}

    def complete(self, work: Work[T]) -> T | None:
        """
        Request conversions and repeat the work until none is missing.

        Raises: RuntimeError if it never ends. Blocks: while a webhook converts. Locks: none is held.
        """
        for _ in range(_ATTEMPTS):
            if work.needed is not None:
                work.known |= self._converters.answers(work.needed, work.target)
            with self._lock:
                result = self.attempt(work)
            if work.needed is None:
                return result
        raise RuntimeError(f"{work.needed}, after {_ATTEMPTS} attempts")

    def leave(self, work: Work[Any], *, key: object = None) -> None:
        """
        Leave work for settle(); key is what is_left() looks for, or None if nothing looks for it.

        Locks: the engine's lock is held.
        """
        self._left[object() if key is None else key] = work

    def is_left(self, key: object) -> bool:
        """Return whether the work with this key is still to be done. Locks: the engine's lock is held."""
        return key in self._left

    def settle(self) -> bool:
        """
        Complete all work that was left. Returns: whether there was any.

        Blocks: while webhooks convert. Locks: none is held.
        """
        with self._lock:
            taken = [(key, work) for key, work in self._left.items() if not work.is_taken]
            for _, work in taken:
                work.is_taken = True
        for key, work in taken:
            try:
                self.complete(work)
            finally:
                with self._lock:
                    del self._left[key]
        return bool(taken)

    @property
    def is_waiting(self) -> bool:
        """Whether any work is left for settle()."""
        with self._lock:
            return any(not work.is_taken for work in self._left.values())


def new_uid(chance: random.Random) -> str:
    """Return a version 4 UUID."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))
