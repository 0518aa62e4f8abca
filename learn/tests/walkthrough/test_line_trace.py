from __future__ import annotations

import sys
import threading

from handloop.picture.steps import Place
from handloop_learn.line_trace import LineTrace


def watched(flag: bool) -> str:
    """The lines that the tests watch."""
    if flag:
        return "yes"
    return "no"


FIRST = watched.__code__.co_firstlineno
YES, NO = (Place(watched.__code__.co_filename, FIRST + offset) for offset in (3, 4))


def test_only_what_ran_is_noted() -> None:
    """The branch that was taken, by its place, and the thread that took it first."""
    with LineTrace([YES, NO]) as trace:
        watched(True)
        thread = threading.Thread(target=watched, args=(True,), name="another")
        thread.start()
        thread.join()
    assert trace.take() == {YES: 2}
    assert trace.threads == {YES: threading.current_thread().name}
    assert trace.take() == {}


def test_nothing_is_noted_afterwards() -> None:
    """The trace function of before is back, and a thread that goes on is no longer noted."""
    before, go = sys.gettrace(), threading.Event()

    def later() -> None:
        go.wait()
        watched(False)

    with LineTrace([YES, NO]) as trace:
        thread = threading.Thread(target=later)
        thread.start()
    go.set()
    thread.join()
    assert trace.hits == {}
    assert sys.gettrace() is before
