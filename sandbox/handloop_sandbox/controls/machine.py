"""What the controls need of the sandbox behind them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.requests.request import Request, Response


class Clock(Protocol):
    """Where the sandbox's time comes from."""

    def time(self) -> float:
        """Unix seconds."""


@runtime_checkable
class MovableClock(Clock, Protocol):
    """A clock that can be set, as clock.SettableClock."""

    @property
    def is_running(self) -> bool:
        """Whether time passes by itself."""

    def set(self, now: float) -> None:
        """Go to a unix time that has not passed."""

    def freeze(self) -> None:
        """Stand still."""

    def run(self) -> None:
        """Go on by itself."""


class Machine(Protocol):
    """The engine, as the controls see it. Locks: none is held around a call."""

    faults: Faults

    @property
    def clock(self) -> Clock:
        """The clock that it lives by."""

    def answer(self, request: Request) -> Response:
        """The answer to a request that is not a watch; it meets faults, too. Raises: as Engine.handle."""

    def tick(self) -> float | None:
        """Step the controllers that are due. Returns: the unix time of the next tick, if one is known."""

    def reset(self) -> int:
        """Make the objects those of the start. Returns: how many were deleted, changed back or made again."""

    def keep_as_start(self) -> None:
        """Have reset() come back to the objects that there are now."""
