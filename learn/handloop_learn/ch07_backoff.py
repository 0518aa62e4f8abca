"""Chapter 7: a key that keeps failing waits longer each time, and all retries share one token bucket."""

from __future__ import annotations

from math import log2
from typing import Final, NamedTuple

from handloop.controller.foo.controller import FooController, default_rate_limiter
from handloop.informers.keys import ObjectName
from handloop.seams.seams import Seams
from handloop.workqueue.queue import QueueOptions
from handloop.workqueue.rate_limiters import MaxOfRateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop_learn.clocks import HandClock
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.waiting import until

FAILURES: Final = 20
CROWD: Final = 400
EXAMPLE: Final = ObjectName("default", "example-foo")
RECAP: Final = (
    "A key that fails waits 5 ms. Each further failure doubles the wait, up to 1000 s.",
    "Call forget() after a success. Otherwise the old failures still count when the key fails again.",
    "All retries share one token bucket. A key that an event handler adds never waits.",
)


class End(NamedTuple):
    """
    The seconds that keys wait for a retry.

    delays = after each failure of one key; after_success = after its first failure since forget(); crowd
    = for each of many keys that fail at the same moment.
    """

    delays: list[float]
    after_success: float
    crowd: list[float]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    screen.tell("The plain Foo controller's worker asks a rate limiter when to retry a failed key:")
    screen.code(cut(FooController._process_next_work_item, "self.sync_handler", "self._workqueue.forget"))
    screen.code(cut(default_rate_limiter, "for_each", "return"))
    screen.tell(
        "`for_each` has the default delays: a key first waits 5 ms, and each further failure doubles the "
        "wait, up to 1000 s. All keys share the bucket, which allows 50 retries a second after a burst of "
        "300."
    )
    # client-go @32ce75a7d: util/workqueue/default_rate_limiters.go
    # sample-controller @7e64d481: controller.go:110
    screen.tell(
        "client-go's default rate limiter and sample-controller's use the same delays. The bucket is "
        "sample-controller's; client-go's allows 10 retries a second after a burst of 100. Both limits "
        "apply only to retries: a key that a handler adds never waits."
    )
    screen.ask("A sync fails again and again. How many seconds after the 10th failure is it retried?")
    clock = HandClock()
    with RateLimitingQueue[ObjectName](
        default_rate_limiter(clock), QueueOptions(seams=Seams(clock=clock))
    ) as queue:
        delays = [_fail(queue, clock) for _ in range(FAILURES)]
        rows = [(failures, f"{delay:.3f}", _bar(delay)) for failures, delay in enumerate(delays, 1)]
        screen.table(("failures", "seconds to the retry", "each # doubles it"), rows)
        screen.reveal(
            f"{delays[9]:g} s: {delays[0]:g} s, doubled 9 times. The wait stops growing at {delays[-1]:g} s.",
            delays[9],
        )
        screen.break_it(
            f"sync {FAILURES + 1} succeeds, but the worker does not call forget(). The next sync fails.",
            "How many seconds until its retry?",
        )
        screen.show(seconds_to_the_retry=(unforgotten := _fail(queue, clock)))
        queue.forget(EXAMPLE)
        after_success = _fail(queue, clock)
        screen.show(after_a_forget=after_success)
    screen.reveal(
        f"{unforgotten:g}. forget() resets the failure count of its key. Without it, a single later failure "
        "leads to the longest wait.",
        unforgotten,
    )
    crowd = _crowd(screen, clock)
    return End(delays, after_success, crowd)


def _crowd(screen: Screen, clock: HandClock) -> list[float]:
    """Let many keys fail at once. Returns: each key's wait."""
    screen.ask(
        f"{CROWD} different Foos fail at the same moment, each for the first time. After how many seconds is "
        "the last one retried?"
    )
    limiter = default_rate_limiter(clock)
    crowd = [round(limiter.when(ObjectName("default", f"foo-{number}")), 6) for number in range(CROWD)]
    screen.table(("foo", "seconds"), [(number, crowd[number - 1]) for number in (1, 300, 301, 302, CROWD)])
    screen.reveal(
        f"After {crowd[-1]:g} s, because of the bucket. A key waits for the longer of its two delays:",
        crowd[-1],
    )
    screen.code(cut(MaxOfRateLimiter.when, "return"))
    return crowd


def _fail(queue: RateLimitingQueue[ObjectName], clock: HandClock) -> float:
    """Report one failure, and wait for the retry. Returns: the seconds between the two."""
    queue.add_rate_limited(EXAMPLE)
    delay = queue.items(1).delayed[EXAMPLE]
    clock.advance(delay)
    until(lambda: len(queue), "the retry")
    queue.done(queue.get())
    return round(delay, 6)


def _bar(delay: float) -> str:
    return "#" * round(log2(delay / 0.005) + 1)
