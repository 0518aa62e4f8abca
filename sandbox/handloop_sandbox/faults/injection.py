"""An activated fault, with the number of its hits."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import msgspec

from handloop_sandbox.faults.fault import Fault, Lag
from handloop_sandbox.faults.request_attributes import RequestAttributes
from handloop_sandbox.storage.store import FIRST_RESOURCE_VERSION


class Injection:
    """
    An activated fault. As a context manager, it clears the fault at the end of the block.

    State: skipped and hits count requests and watches. over is true once the fault has been cleared or its
    time is up. All three are written only with the lock of the sandbox's Faults held.
    """

    def __init__(
        self,
        fault: Fault,
        name: str,
        *,
        ends_at: float | None,
        resource_version: int,
        clear: Callable[[str], object],
    ) -> None:
        """
        Args: name is the id. ends_at is the unix time at which the fault ends; None means no limit.
        resource_version is the newest version when the fault is activated. clear ends the fault with an id.
        """
        self.fault = fault
        self.id = name
        self.ends_at = ends_at
        self.skipped = 0
        self.hits = 0
        self.over = False
        self._asked_at_version = resource_version
        self._clear = clear

    @property
    def is_spent(self) -> bool:
        """Whether the fault has hit `count` requests."""
        return self.fault.count is not None and self.hits >= self.fault.count

    def clear(self) -> None:
        """End the fault. Further calls have no effect."""
        self._clear(self.id)

    def claim(self, asked: RequestAttributes) -> bool:
        """Return whether the fault hits this request, and count it. Locks: the caller holds Faults' lock."""
        if self.over or self.is_spent or not self.fault.chooses(asked):
            return False
        if self.skipped < self.fault.skip:
            self.skipped += 1
            return False
        self.hits += 1
        return True

    def newest_visible(self, resource_version: int) -> int:
        """Return the newest version that a Lag fault shows, given the store's newest version."""
        assert isinstance(self.fault, Lag)
        if self.fault.changes is None:
            return min(self._asked_at_version, resource_version)
        return max(resource_version - self.fault.changes, FIRST_RESOURCE_VERSION)

    def document(self) -> dict[str, Any]:
        """Return the JSON that represents the injection in a listing: the fault, its id, and its hits."""
        fault: dict[str, Any] = msgspec.to_builtins(self.fault)
        return {"id": self.id, **fault, "hits": self.hits}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
