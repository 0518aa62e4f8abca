"""A manager that runs on a thread of the test."""

from __future__ import annotations

import threading
from typing import Final

from handloop.controller.runtime.manager import Manager

_JOIN_SECONDS: Final = 60.0


class ManagerThread:
    """
    Runs a manager on its own thread until stop is set.

    Fields: manager is the manager that runs; setting stop shuts it down; error is what it raised, or None.
    Threads: used on the test's thread. The manager's thread has the given name.
    """

    def __init__(self, manager: Manager, name: str, stop: threading.Event | None = None) -> None:
        """Prepare the thread without starting it. Args: if stop is None, a new event is created."""
        self.manager = manager
        self.stop = stop or threading.Event()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Run the manager."""
        self._thread.start()

    def has_ended(self) -> bool:
        """Return whether the manager is not running."""
        return not self._thread.is_alive()

    def result(self) -> None:
        """
        Wait until the manager has ended.

        Raises: the same errors as Manager.run; AssertionError if the manager has not ended after a minute.
        """
        self._thread.join(_JOIN_SECONDS)
        assert self.has_ended(), f"the {self._thread.name} did not stop within {_JOIN_SECONDS:g} s"
        if self.error is not None:
            raise self.error

    def end(self) -> None:
        """Stop the manager. Raises: the same errors as result. Blocks: until the manager has ended."""
        self.stop.set()
        self.result()

    def _run(self) -> None:
        try:
            self.manager.run(self.stop)
        except BaseException as error:  # noqa: BLE001 - result raises it
            self.error = error
