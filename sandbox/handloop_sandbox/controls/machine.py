"""What the controls need from the sandbox."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.requests.request import Request, Response


class Clock(Protocol):
    """The source of the sandbox's time."""

    def time(self) -> float:
        """Unix seconds."""


@runtime_checkable
class MovableClock(Clock, Protocol):
    """A clock that can be set, such as clock.SettableClock."""

    @property
    def is_running(self) -> bool:
        """Whether the clock runs by itself."""

    def set(self, now: float) -> None:
        """Move forward to a unix time."""

    def freeze(self) -> None:
        """Stop the clock."""

    def run(self) -> None:
        """Let the clock run again."""


class Machine(Protocol):
    """The part of the engine that the controls use. Locks: the caller holds none."""

    faults: Faults

    @property
    def clock(self) -> Clock:
        """The clock that the engine follows."""

    def answer(self, request: Request) -> Response:
        """
        Answer a request, except a watch. Faults also apply to it.

        Raises: the same errors as Engine.handle.
        """

    def tick(self) -> float | None:
        """
        Run the controllers that are due.

        Returns: the unix time of the next tick, or None if nothing is due before the next change.
        """

    def reset(self) -> int:
        """Restore the initial objects. Returns: how many were deleted, changed back or created again."""

    def keep_as_start(self) -> None:
        """Make the present objects the initial ones, which reset() restores."""
