"""How long a reflector waits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handloop.client.errors import ConnectionRefused
from handloop.client.rest_client import Reachability
from handloop.informers.listing import ListFailed
from handloop.informers.outage import RetryPause
from handloop.workqueue.seams import Seams
from support.fake_clock import FakeClock
from support.fake_lister_watcher import internal_error, too_many_requests
from support.reflector_rig import CountingBackoff
from support.threads import Background


class Alone:
    """A pause of a reflector that hears of no other requests."""

    def __init__(self, seconds: float = 1.6) -> None:
        self.clock = FakeClock(moves_itself=True)
        self.backoff = CountingBackoff(seconds)
        self.pause = RetryPause(self.backoff, seams=Seams(clock=self.clock))

    def fail(self, error: Exception, *, gone: bool = False) -> None:
        self.pause.wait(self.pause.seconds(error, gone=gone), gone=gone)


class Shared:
    """A pause on a server that others talk to, too."""

    def __init__(self, seconds: float = 12.0) -> None:
        self.seconds = seconds
        self.clock = FakeClock()
        self.server = Reachability(clock=self.clock)
        self.backoff = CountingBackoff(seconds)
        self.pause = RetryPause(
            self.backoff, seams=Seams(clock=self.clock, random=lambda: 0.5), reachability=self.server
        )

    def wait(self, error: Exception, *, gone: bool = True) -> Background[None]:
        """Begin to wait."""
        began_at = self.clock.now()
        seconds = self.pause.seconds(error, gone=gone)
        waiter = Background(lambda: self.pause.wait(seconds, gone=gone))
        self.clock.wait_for_deadline(began_at + self.seconds)
        return waiter

    def back(self) -> None:
        """Somebody else's request is answered, after one that was not."""
        self.server.lost()
        self.server.answered()


def refused() -> ConnectionRefused:
    return ConnectionRefused("connection refused")


def wrapped(error: Exception) -> ListFailed:
    failed = ListFailed(f"failed to list: {error}")
    failed.__cause__ = error
    return failed


@pytest.mark.parametrize(("retry_after", "slept"), [(None, 1.6), (1.0, 1.6), (7.0, 7.0), (3600.0, 120.0)])
def test_server_may_ask_for_a_longer_pause(retry_after: float | None, slept: float) -> None:
    """T21: Retry-After makes the wait longer, never shorter, and never longer than two minutes."""
    rig = Alone()
    rig.fail(wrapped(too_many_requests(retry_after=retry_after)))
    assert rig.clock.slept == [slept]


def test_pending_retry_can_be_seen() -> None:
    """retry_at is set while waiting, and only then."""
    rig = Shared()
    waiter = rig.wait(internal_error(), gone=False)
    assert rig.pause.retry_at == 12
    rig.clock.advance(12)
    waiter.result()
    assert rig.pause.retry_at is None


def test_one_answer_ends_the_outage_for_all() -> None:
    """Who waits for a server that is gone goes on within a second after somebody else's answer."""
    rig = Shared()
    rig.clock.advance(100)
    waiter = rig.wait(refused())
    rig.clock.advance(3)
    rig.back()
    rig.clock.wait_for_deadline(103.5)
    assert rig.pause.retry_at == 103.5
    rig.clock.advance(0.5)
    waiter.result()
    assert rig.backoff.resets == 1


def test_an_early_end_is_never_a_late_one() -> None:
    """The server comes back just before the wait would have ended anyway."""
    rig = Shared()
    waiter = rig.wait(refused())
    rig.clock.advance(11.9)
    rig.back()
    rig.clock.wait_for_deadline(12)
    rig.clock.advance(0.1)
    waiter.result()


def test_waits_are_cut_short_once_in_ten_seconds() -> None:
    """Where others are answered and this one never is, the back-off still counts."""
    rig = Shared()
    waiter = rig.wait(refused())
    rig.back()
    rig.clock.wait_for_deadline(0.5)
    rig.clock.advance(0.5)
    waiter.result()
    waiter = rig.wait(refused())
    rig.back()
    rig.clock.advance(12)
    waiter.result()
    waiter = rig.wait(refused())
    rig.back()
    rig.clock.wait_for_deadline(13)
    rig.clock.advance(0.5)
    waiter.result()
    assert rig.backoff.resets == 2


@pytest.mark.parametrize("seconds", [1.0, 12.0])
def test_other_waits_are_waited_out(seconds: float) -> None:
    """That the server answers others says nothing about a 500; and a second's wait is not worth it."""
    rig = Shared(seconds)
    gone = seconds == 1.0
    waiter = rig.wait(refused() if gone else internal_error(), gone=gone)
    rig.back()
    rig.clock.advance(seconds - 0.5)
    assert rig.clock.deadlines() == [seconds]
    rig.clock.advance(0.5)
    waiter.result()


def test_stop_ends_a_wait_for_a_server() -> None:
    """The waits under way on that server are woken, and this one ends."""
    rig = Shared()
    waiter = rig.wait(refused())
    rig.pause.stop()
    waiter.result()


@pytest.mark.parametrize(
    "answer",
    [lambda rig: rig.fail(internal_error()), lambda rig: rig.pause.server_answered()],
    ids=["500", "success"],
)
def test_a_server_that_is_back_starts_the_back_off_anew(answer: Callable[[Alone], None]) -> None:
    """The waits that grew while nobody answered are not those of what it says then, or later."""
    rig = Alone()
    for _ in range(3):
        rig.fail(refused(), gone=True)
    assert rig.backoff.resets == 0
    for _ in range(2):
        answer(rig)
    assert rig.backoff.resets == 1


def test_a_server_that_comes_and_goes_is_still_backed_off_from() -> None:
    """The back-off starts anew once in ten seconds at most."""
    rig = Alone(1.0)
    for _ in range(10):
        rig.fail(refused(), gone=True)
        rig.fail(internal_error())
    assert rig.clock.now() == 20
    assert rig.backoff.resets == 2
