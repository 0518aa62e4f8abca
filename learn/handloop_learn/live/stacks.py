"""Formats the stacks of all threads, which show where each thread waits."""

from __future__ import annotations

import sys
import threading
import traceback


def stacks() -> str:
    """Return the stack of each thread of this process, innermost call last, sorted by thread name."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = [(names.get(ident, f"thread {ident}"), frame) for ident, frame in sys._current_frames().items()]
    found.sort(key=lambda pair: pair[0])
    return "\n".join(f"{name}\n{''.join(traceback.format_stack(frame))}" for name, frame in found)
