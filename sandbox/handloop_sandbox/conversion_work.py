"""
Runs work, such as a request, that needs a webhook to convert objects.

Webhooks must not be called with the engine's lock held. Therefore, work stops when it needs a conversion
whose result is unknown. After the webhook has answered, the work is repeated from the start with the same
time, the same random numbers and all results known so far. A request is completed in its own thread. Watches,
controllers and caches leave their work for settle().
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
    A function to run, with its user, its time and the seed of its random numbers.

    known holds the results of the conversions so far. needed is the conversion to request next, and target is
    the webhook to call for it. is_taken is true while a thread is completing the work.
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
    Requests conversions from webhooks, and completes the work that needs them.

    State: known holds the conversion results of the running work, and _left the work for settle().
    Threads: any thread can use it. The engine's lock guards all state.
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
        """Create work for a user. Locks: the caller holds the engine's lock."""
        context = self._context(user)
        return Work(run, user, context.now, context.random.getrandbits(64))

    def attempt(self, work: Work[T]) -> T | None:
        """
        Run work with the conversions known so far. If another one is needed, store it in work.needed.

        Returns: the result, or None if a conversion is needed. Locks: the caller holds the engine's lock.
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
        Request conversions and repeat the work until it needs no more of them.

        Raises: RuntimeError after 50 attempts. Blocks: while a webhook converts. Locks: the caller holds
        none.
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
        Leave work to be completed by settle().

        Args: key identifies the work for is_left(), if given. Locks: the caller holds the engine's lock.
        """
        self._left[object() if key is None else key] = work

    def is_left(self, key: object) -> bool:
        """Return whether work with this key is not complete. Locks: the caller holds the engine's lock."""
        return key in self._left

    def settle(self) -> bool:
        """
        Complete all work that was left. Returns: whether there was any.

        Blocks: while webhooks convert. Locks: the caller holds none.
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
