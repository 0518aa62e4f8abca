"""The exercise of chapter 7: a rate limiter per key."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Final

from handloop.seams.seams import Seams
from handloop.workqueue.queue import QueueOptions
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop_learn.clocks import HandClock
from handloop_learn.exercise import Exercise, Load, WrongError, expect

START: Final = '''\
"""Chapter 7: how long does a failed key wait?"""


class Backoff:
    """A key waits 5 ms after its first failure, and twice as long after each further one, up to 1000 s."""

    def when(self, key):
        """Count one more failure of key. Returns: the seconds to wait."""
        return 0.005

    def forget(self, key):
        """Forget the failures of a key that has succeeded."""

    def num_requeues(self, key):
        """Return how many failures of key have been counted."""
        return 0
'''

_MANY: Final = 2000


def check(load: Load) -> Iterator[str]:
    """See Check."""
    limiter = load().Backoff()
    waits = [limiter.when("a") for _ in range(4)]
    first = f"after the first failure, a key waits {waits[0]} s"
    expect(
        isclose(waits[0], 0.005),
        first,
        "5 ms is 0.005 s. Multiply it by 2 to the power of the number of *earlier* failures.",
    )
    expect(waits[1] > waits[0], f"the first four waits are {waits} s", "Count the failures of each key.")
    expect(isclose(waits[3], 0.04), f"the first four waits are {waits} s", "Double: 5, 10, 20, 40 ms.")
    yield f"the first four waits are {', '.join(f'{wait:g}' for wait in waits)} s"
    other = limiter.when("b")
    expect(isclose(other, 0.005), f"after its first failure, another key waits {other} s", "Count per key.")
    yield "each key has its own count"
    counted = limiter.num_requeues("a")
    expect(counted == 4, f"after four failures, num_requeues is {counted}", "Return the number of failures.")
    try:
        last = max(limiter.when("a") for _ in range(_MANY))
    except OverflowError as error:
        hint = "2.0 ** 1024 is too large for a float. Bound the exponent, not only the result."
        raise WrongError(f"after very many failures: {error}", hint) from error
    expect(last == 1000, f"after {_MANY} failures, a key waits {last:g} s", "Wait at most 1000 s: use min().")
    yield f"{_MANY} failures make a key wait 1000 s"
    limiter.forget("a")
    limiter.forget("never seen")
    again = limiter.when("a")
    expect(
        isclose(again, 0.005),
        f"after forget() and a failure, a key waits {again} s",
        "Delete the key's count.",
    )
    kept = limiter.when("b")
    expect(
        isclose(kept, 0.01),
        f"after forget('a') and a second failure, b waits {kept} s",
        "Forget only that key.",
    )
    yield "forget() resets one key"
    clock = HandClock()
    with RateLimitingQueue[str](limiter, QueueOptions(seams=Seams(clock=clock))) as queue:
        queue.add_rate_limited("c")
        expect(queue.statistics().delayed == 1, "a real queue did not delay a key", "when() returns seconds.")
    yield "a real workqueue works with it"


EXERCISE: Final = Exercise(
    "write the class Backoff, which computes how long a failed key waits.", START, check
)
