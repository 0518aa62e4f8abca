"""Signals to this process, where it handles them."""

from __future__ import annotations

import os
import signal


def terminate() -> None:
    """Send SIGTERM, unless it would kill the process of the tests."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        os.kill(os.getpid(), signal.SIGTERM)
