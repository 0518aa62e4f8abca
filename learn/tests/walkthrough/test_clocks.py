from __future__ import annotations

import threading

from handloop_learn.clocks import FastClock, HandClock


def test_a_hand_clock_stands_still_until_it_is_moved() -> None:
    """A wait ends when the clock was moved far enough, and returns that its time has come."""
    clock, condition, ended = HandClock(), threading.Condition(), threading.Event()

    def wait() -> None:
        with condition:
            while clock.wait_until(condition, 5.0):
                pass
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    clock.advance(4.9)
    assert not ended.wait(0.05)
    clock.advance(0.2)
    thread.join(20)
    assert ended.is_set()
    with condition:
        assert not clock.wait(condition, 0.0)


def test_a_sleep_ends_with_the_time_or_the_stop() -> None:
    """True when stop was set, False when the time has passed."""
    clock, stop = HandClock(), threading.Event()
    slept: list[bool] = []
    sleeper = threading.Thread(target=lambda: slept.append(clock.sleep(3.0, stop)))
    sleeper.start()
    sleeper.join(0.05)
    assert slept == []
    while not slept:
        clock.advance(3.0)
    sleeper.join()
    assert slept == [False]
    stop.set()
    assert clock.sleep(1000.0, stop)


def test_a_fast_clock_is_fast() -> None:
    """Its seconds are a share of real ones, whichever way it waits: real ones would be five hours each."""
    clock, condition, stop = FastClock(times=100_000.0), threading.Condition(), threading.Event()
    began = clock.now()
    with condition:
        assert not clock.wait(condition, 20_000.0)
        assert not clock.wait_until(condition, clock.now() + 20_000.0) or clock.now() > began
    assert not clock.sleep(20_000.0, stop)
    assert clock.now() - began >= 39_000.0
