"""The effects of signals on the process; the hard exit in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from handloop.controller.runtime.life import signals
from handloop.controller.runtime.life.signals import HARD_EXIT_CODE, SignalHandler

ROOT = Path(__file__).parents[4]
SECONDS = 20.0

_TWO_SIGNALS = """
import os, signal, threading
from handloop.controller.runtime.life.signals import SignalHandler
told = threading.Event()
with SignalHandler(threading.Event(), on_stop=lambda name: told.set(), on_usr1=lambda: None):
    os.kill(os.getpid(), signal.SIGINT)
    assert told.wait(20)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(20)
os._exit(99)
"""

_TWO_SIGNALS_WHILE_THE_TERMINAL_IS_HALTED = """
import os, signal, threading
from handloop.controller.runtime.life.signals import SignalHandler
halted = threading.Event()
def say(*_):
    halted.set()
    threading.Event().wait()
with SignalHandler(threading.Event(), on_stop=say, on_usr1=say):
    os.kill(os.getpid(), signal.FIRST)
    assert halted.wait(20)
    os.kill(os.getpid(), signal.SIGTERM)
    if signal.FIRST == signal.SIGUSR1:
        os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(20)
    os._exit(99)
"""


def ignore(*_: object) -> None:
    """React to nothing."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_a_stop(number: signal.Signals) -> None:
    """Stop is set before the signal's name is logged, which may fail or take for ever."""
    stop, told = threading.Event(), list[tuple[str, bool]]()
    with SignalHandler(stop, on_stop=lambda name: told.append((name, stop.is_set())), on_usr1=ignore):
        os.kill(os.getpid(), number)
        assert stop.wait(SECONDS)
    assert told == [(number.name, True)]


def test_the_second_signal_ends_the_process_at_once() -> None:
    """Exit code 1, with anything still running, as sample-controller's signals package."""
    ended = subprocess.run(
        [sys.executable, "-c", _TWO_SIGNALS], cwd=ROOT, timeout=60, check=False, capture_output=True
    )
    assert (ended.returncode, ended.stderr) == (HARD_EXIT_CODE, b"")


@pytest.mark.parametrize("first", ["SIGINT", "SIGUSR1"])
def test_a_log_that_blocks_keeps_no_signal_from_counting(first: str) -> None:
    """With a terminal halted by Ctrl-S, a thread that logs waits; the second stop ends the process."""
    code = _TWO_SIGNALS_WHILE_THE_TERMINAL_IS_HALTED.replace("FIRST", first)
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False, capture_output=True
    )
    assert (ended.returncode, ended.stderr) == (HARD_EXIT_CODE, b"")


def test_a_signal_that_comes_while_main_begins_to_wait_is_not_lost() -> None:
    """The other thread gets its turn when main lets go of the interpreter inside `stop.wait()`."""
    for _ in range(20):
        stop, waiting = threading.Event(), threading.Event()

        def send(waiting: threading.Event) -> None:
            assert waiting.wait(SECONDS)
            os.kill(os.getpid(), signal.SIGTERM)

        sender = threading.Thread(target=send, args=(waiting,))
        with SignalHandler(stop, on_stop=ignore, on_usr1=ignore):
            sender.start()
            waiting.set()
            assert stop.wait(SECONDS)
            sender.join()


def test_usr1_is_no_request_to_stop() -> None:
    """It is answered every time, and does not count as the first signal."""
    stop, cycled = threading.Event(), threading.Semaphore(0)
    with SignalHandler(stop, on_stop=ignore, on_usr1=cycled.release):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGUSR1)
            assert cycled.acquire(timeout=SECONDS)
        assert not stop.is_set()


def test_other_signals_are_left_alone() -> None:
    """The interpreter reports every signal with a handler; only three mean something here."""
    stop, seen = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGUSR2, lambda *_: seen.set())
    try:
        with SignalHandler(stop, on_stop=ignore, on_usr1=ignore):
            os.kill(os.getpid(), signal.SIGUSR2)
            assert seen.wait(SECONDS)
        assert not stop.is_set()
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_afterwards_all_is_as_before() -> None:
    """Handlers and wake-up descriptor are put back: a program may embed this one."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    with SignalHandler(threading.Event(), on_stop=ignore, on_usr1=ignore):
        assert signal.getsignal(signal.SIGINT) not in handlers
    assert handlers == [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    ]
    assert signal.set_wakeup_fd(-1) == -1


def test_systems_without_usr1_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no SIGUSR1, and the program still starts."""
    before = signal.getsignal(signal.SIGUSR1)
    monkeypatch.setattr(signals, "_USR1", None)
    with SignalHandler(threading.Event(), on_stop=ignore, on_usr1=ignore):
        assert signal.getsignal(signal.SIGUSR1) == before
