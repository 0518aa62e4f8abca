"""Records how the syncs of a running Foo controller ended, as reported to its work queue."""

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
    Listens for as long as its `with` lasts; only one may listen at a time.

    State: succeeded counts syncs; errors has the error of each failed one. Workers write them, each in one
    interpreter operation.
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
        """The errors since the last call."""
        taken, self.errors = self.errors, []
        return taken

    def settle(self) -> None:
        """Block until no sync has ended for a moment."""
        seen = -1
        while seen != (seen := self.succeeded + len(self.errors)):
            time.sleep(_LINGER_SECONDS)

    def once_failed(self) -> str:
        """The first error. Blocks: until there is one."""
        until(lambda: self.errors, "a failed sync")
        return self.errors[0]

    def _hear(self, step: int, component: str, _key: str, facts: dict[str, Any]) -> None:
        if step != _FORGET_OR_ADD_RATE_LIMITED or component != QUEUE_NAME:
            return
        if "forgotten" in facts:
            self.succeeded += 1
        elif "error" in facts:
            self.errors.append(facts["error"])
