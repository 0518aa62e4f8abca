"""
Dependencies that tests replace, in one object: the clock, random numbers, and how threads are started.

A component that needs only the time receives just a `Clock`. Locks come from `new_lock`.
Decision: Seams are passed down as one object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import random as random_number
from typing import Final

from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.threads import Spawn, spawn_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """
    A component's access to time, random numbers and threads.

    random returns a number in [0, 1). All three can be used from any thread.
    """

    clock: Clock = REAL_CLOCK
    random: Callable[[], float] = random_number
    spawn: Spawn = spawn_thread

    def __post_init__(self) -> None:
        """Check the clock, so that no thread fails later. Raises: TypeError if the clock lacks a method."""
        methods = ("now", "time", "wait", "wait_until", "sleep")
        missing = [name for name in methods if not callable(getattr(self.clock, name, None))]
        if missing:
            raise TypeError(f"{self.clock!r} is not a handloop Clock: it lacks {', '.join(missing)}")


REAL_SEAMS: Final = Seams()
