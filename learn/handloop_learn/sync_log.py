"""Records how a running Foo controller's syncs ended, as they were reported to its work queue."""

from __future__ import annotations

import time
from typing import Any, Final, Self

from handloop.controller.foo.controller import QUEUE_NAME
from handloop.seams.step_trace import TRACE
from handloop_learn.waiting import until

_FORGET_OR_ADD_RATE_LIMITED: Final = 11
_LINGER_SECONDS: Final = 0.3


class SyncLog:
    """
    Records syncs inside its `with`. Only one SyncLog can record at a time.

    State: succeeded is the number of successful syncs. errors contains the errors of the failed ones. Workers
    write both, without a lock.
    """

    def __init__(self) -> None:
        self.succeeded = 0
        self.errors: list[str] = []

    def __enter__(self) -> Self:
        TRACE.start(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        TRACE.stop()

    def take_errors(self) -> list[str]:
        """Return the errors since the last call."""
        taken, self.errors = self.errors, []
        return taken

    def settle(self) -> None:
        """Wait until no sync has ended for a moment. Blocks: until then."""
        seen = -1
        while seen != (seen := self.succeeded + len(self.errors)):
            time.sleep(_LINGER_SECONDS)

    def once_failed(self) -> str:
        """Return the first error. Blocks: until a sync has failed."""
        until(lambda: self.errors, "a failed sync")
        return self.errors[0]

    def _hear(self, step: int, component: str, _key: str, facts: dict[str, Any]) -> None:
        if step != _FORGET_OR_ADD_RATE_LIMITED or component != QUEUE_NAME:
            return
        if "forgotten" in facts:
            self.succeeded += 1
        elif "error" in facts:
            self.errors.append(facts["error"])
