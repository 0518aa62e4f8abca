"""Checks that a controller stops writing once the objects around it no longer change."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from handloop.testing.request_attributes import RequestAttributes

QUIET_SECONDS: Final = 0.3
SETTLE_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.01
_SHOWN: Final = 5


class Written(Protocol):
    """Something that records writes, such as a RunningSandbox or a RunningOperator."""

    def writes(self) -> Sequence[RequestAttributes]:
        """Return all writes so far, oldest first."""


def assert_quiet(
    written: Written, *, seconds: float = QUIET_SECONDS, within_seconds: float = SETTLE_SECONDS
) -> None:
    """
    Wait until nothing has been written for a few seconds of real time.

    Args: seconds is the time for which no write may occur. A write in the first within_seconds only restarts
    this time; a later write is an error.
    Raises: AssertionError with the last writes, at the first later write.
    Blocks: for at least seconds, and for at most within_seconds + seconds.
    """
    began_at = quiet_since = time.monotonic()
    before = count = len(written.writes())
    pause = threading.Event()
    while True:
        # Read the time first. Otherwise a write during a pause of this thread could be missed, and the
        # silence would seem longer.
        now, writes = time.monotonic(), written.writes()
        if len(writes) > count:
            last = ", ".join(str(each) for each in writes[before:][-_SHOWN:])
            assert now - began_at < within_seconds, (
                f"not quiet: {len(writes) - before} writes in {now - began_at:.1f} s, the last of them {last}"
            )
            count, quiet_since = len(writes), now
        elif now - quiet_since >= seconds:
            return
        pause.wait(_PAUSE_SECONDS)
