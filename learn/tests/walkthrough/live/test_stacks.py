"""The stacks of all threads."""

from __future__ import annotations

import threading

from handloop_learn.live.stacks import stacks


def test_each_thread_is_shown_with_what_it_waits_for() -> None:
    """A thread that waits for an event: its name, and the line at which it waits."""
    stop, waits = threading.Event(), threading.Event()

    def wait_for_the_end() -> None:
        waits.set()
        stop.wait()

    thread = threading.Thread(target=wait_for_the_end, name="reflector-foos")
    thread.start()
    waits.wait()
    try:
        text = stacks()
    finally:
        stop.set()
        thread.join()
    block = text.partition("reflector-foos\n")[2]
    assert "in wait_for_the_end\n    stop.wait()\n" in block
    assert "MainThread\n" in text
