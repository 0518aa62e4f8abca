"""The stacks of all threads, as text: where each one waits, and for what."""

from __future__ import annotations

import sys
import threading
import traceback


def stacks() -> str:
    """The stack of each thread of this process, the innermost call last, sorted by the threads' names."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = [(names.get(ident, f"thread {ident}"), frame) for ident, frame in sys._current_frames().items()]
    found.sort(key=lambda pair: pair[0])
    return "\n".join(f"{name}\n{''.join(traceback.format_stack(frame))}" for name, frame in found)
