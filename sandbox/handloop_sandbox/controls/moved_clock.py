"""The sandbox's clock over HTTP: read it, stop it, let it run, and move it forward."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from handloop_sandbox.controls.machine import Machine, MovableClock
from handloop_sandbox.grammar.times import format_micro_time, parse_time
from handloop_sandbox.wire.status import StatusError, bad_request, failure

_STEPS: Final = 1000
"""The most steps in a move, because a year is not simulated second by second."""

_LAST: Final = parse_time("9000-01-01T00:00:00Z")
"""Beyond this time, times derived from the present, such as a token's expiry, would not be valid dates."""


class Move(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A move of the clock: how far, or to what time, and whether the clock runs afterwards."""

    running: bool | None = None
    advance_seconds: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    time: str | None = None


def shown(machine: Machine) -> dict[str, Any]:
    """Return, as JSON, the time and whether the clock runs by itself."""
    clock = machine.clock
    running = clock.is_running if isinstance(clock, MovableClock) else True
    return {"time": format_micro_time(clock.time()), "running": running}


def move(machine: Machine, wanted: Move) -> None:
    """
    Move the clock, and run the cluster's controllers for the time in between.

    Raises: StatusError: 409 if the sandbox's clock cannot be set, 400 for a time in the past.
    """
    clock = machine.clock
    if not isinstance(clock, MovableClock):
        raise StatusError(failure(409, "Conflict", "this sandbox has a clock that cannot be set"))
    running = clock.is_running if wanted.running is None else wanted.running
    clock.freeze()
    try:
        _pass(machine, clock, _end(clock.time(), wanted))
    finally:
        if running:
            clock.run()


def _end(now: float, wanted: Move) -> float:
    """Return the unix time at which the move ends. Raises: StatusError for a time in the past."""
    if wanted.time is not None and wanted.advance_seconds is not None:
        raise bad_request("either advanceSeconds or a time")
    try:
        end = now + (wanted.advance_seconds or 0) if wanted.time is None else parse_time(wanted.time)
    except ValueError as error:
        raise bad_request(str(error)) from error
    if end > _LAST:
        raise bad_request(f"the clock ends at {format_micro_time(_LAST)}")
    if end < now:
        raise bad_request(f"time does not go back: it is {format_micro_time(now)}")
    return end


def _pass(machine: Machine, clock: MovableClock, end: float) -> None:
    """Move from tick to tick, because what a controller does at one tick determines when the next is due."""
    least = (end - clock.time()) / _STEPS
    due = machine.tick()
    while due is not None and due < end:
        clock.set(min(max(due, clock.time() + least), end))
        due = machine.tick()
    clock.set(end)
    machine.tick()
