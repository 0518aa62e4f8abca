"""Controls the sandbox's clock: reads it, stops it, lets it run, and moves it forward."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from handloop_sandbox.controls.machine import Machine, MovableClock
from handloop_sandbox.grammar.times import format_micro_time, parse_time
from handloop_sandbox.wire.status import StatusError, bad_request, failure

_STEPS: Final = 1000
"""The maximum number of steps in a move. A long move has longer steps, so that a year needs no more."""

_LAST: Final = parse_time("9000-01-01T00:00:00Z")
"""
The latest time to move to. Times calculated from a later one could be invalid.

For example, a token's expiry must be a valid date.
"""


class Move(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A request to move the clock. If running is not None, it says whether the clock then runs."""

    running: bool | None = None
    advance_seconds: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    time: str | None = None


def shown(machine: Machine) -> dict[str, Any]:
    """Return the JSON that describes the clock: its time, and whether it runs by itself."""
    clock = machine.clock
    running = clock.is_running if isinstance(clock, MovableClock) else True
    return {"time": format_micro_time(clock.time()), "running": running}


def move(machine: Machine, wanted: Move) -> None:
    """
    Move the clock, and run the cluster's controllers for the time in between.

    Raises: StatusError, with code 409 if the sandbox's clock cannot be set, or 400 if the time is in the
    past.
    """
    clock = machine.clock
    if not isinstance(clock, MovableClock):
        raise StatusError(failure(409, "Conflict", "this sandbox's clock cannot be set"))
    running = clock.is_running if wanted.running is None else wanted.running
    clock.freeze()
    try:
        _pass(machine, clock, _end(clock.time(), wanted))
    finally:
        if running:
            clock.run()


def _end(now: float, wanted: Move) -> float:
    """Return the unix time at which the move ends. Raises: StatusError if it is in the past."""
    if wanted.time is not None and wanted.advance_seconds is not None:
        raise bad_request("either advanceSeconds or a time")
    try:
        end = now + (wanted.advance_seconds or 0) if wanted.time is None else parse_time(wanted.time)
    except ValueError as error:
        raise bad_request(str(error)) from error
    if end > _LAST:
        raise bad_request(f"the clock ends at {format_micro_time(_LAST)}")
    if end < now:
        raise bad_request(f"the clock cannot go back: it is {format_micro_time(now)}")
    return end


def _pass(machine: Machine, clock: MovableClock, end: float) -> None:
    """Move the clock one tick at a time, because each tick determines when the next one is due."""
    least = (end - clock.time()) / _STEPS
    due = machine.tick()
    while due is not None and due < end:
        clock.set(min(max(due, clock.time() + least), end))
        due = machine.tick()
    clock.set(end)
    machine.tick()
