"""
The three things that tests replace: the clock, the source of random numbers, and the start of threads.

They are handed down whole, from a program's entry to the part that waits, jitters or starts a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import random as random_number
from typing import Final

from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.spawn import Spawn, spawn_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """
    Where a component meets time, chance and threads.

    random returns a number in [0, 1). All three are called from any thread.
    """

    clock: Clock = REAL_CLOCK
    random: Callable[[], float] = random_number
    spawn: Spawn = spawn_thread


REAL_SEAMS: Final = Seams()
