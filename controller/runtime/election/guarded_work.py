"""What only the leader does."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GuardedWork:
    """
    Runs a function on a thread of its own, until it is told to stop.

    State: stop, set to end it; ended, set when it has; _error, what it raised, written before ended is set.
    """

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self.stop = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        """Do it. The thread `leading`."""
        try:
            self._work(self.stop)
        except BaseException as error:  # noqa: BLE001 - raised again on the elector's thread
            self._error = error
        finally:
            self.ended.set()

    def raise_error(self) -> None:
        """Raise what the work raised, if it has."""
        if self.ended.is_set() and self._error is not None:
            raise self._error
