"""
Traces a running controller, and records which thread reaches a step, with its locks and local values.

A *probe* names the values to record, and a *sighting* contains the recorded values. The threads that
`Tracer.spawn` starts are traced line by line, so the controller needs no extra code.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from handloop.seams.locks import set_lock_factory
from handloop.seams.threads import Joinable, spawn_thread
from tools.steps import ROOT, steps

Locals = dict[str, Any]


class Sighting(NamedTuple):
    """A thread at a step. arrives, leaves: its incoming and outgoing values; locks: the outermost first."""

    step: int
    thread: str
    locks: tuple[str, ...]
    arrives: str
    leaves: str


class Probe(NamedTuple):
    """
    The values to record at a step.

    function: the qualified name of a function, which is probed at the line of the step's comment, or at its
    first line if the comment is elsewhere. arrives: reads the local variables at that line. leaves: reads the
    local variables at the function's end, and the returned value. times: the maximum number of sightings of
    the step, over all its probes.
    """

    step: int
    function: str
    arrives: Callable[[Locals], str]
    leaves: Callable[[Locals, Any], str]
    times: int = 1


class _NotedLock:
    """Implements handloop.seams.locks.Lock, and records which locks each thread holds."""

    _held = threading.local()

    def __init__(self, name: str, rank: int) -> None:
        self._lock = threading.Lock()
        self._text = f"{name} ({rank})"

    @classmethod
    def held(cls) -> list[str]:
        """Return the names of the locks that the calling thread holds, outermost first."""
        names: list[str] = cls._held.__dict__.setdefault("names", [])
        return names

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's
        """Acquire the lock."""
        taken = self._lock.acquire(blocking, timeout)
        if taken:
            self.held().append(self._text)
        return taken

    def release(self) -> None:
        """Release the lock."""
        self.held().remove(self._text)
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Tracer:
    """
    Records sightings in the threads that spawn() starts, after `armed` has been set.

    State: sightings, in the order in which the steps ended. Threads: usable from any thread.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self.sightings: list[Sighting] = []
        self.armed = False
        self._places = {step.number: (ROOT / step.path, step.line) for step in steps()}
        self._by_function: dict[str, list[Probe]] = {}
        for probe in probes:
            self._by_function.setdefault(probe.function, []).append(probe)

    def spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        """Start a thread that is traced; see handloop.seams.seams."""

        def traced() -> None:
            sys.settrace(self._called)
            target()

        return spawn_thread(name, traced)

    def _called(self, frame: FrameType, _event: str, _arg: object) -> Callable[..., Any] | None:
        probes = self._by_function.get(frame.f_code.co_qualname)
        if probes is None or not frame.f_globals["__name__"].startswith("handloop."):
            return None
        return self._follow([(probe, self._line_of(probe, frame.f_code)) for probe in probes])

    def _follow(self, probes: list[tuple[Probe, int]]) -> Callable[..., Any]:
        """Return a trace function for one call of a probed function."""
        begun: list[tuple[Probe, tuple[str, ...], str]] = []

        def trace(frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
            if event == "line":
                # Record each probe once per call, even if the line is in a loop.
                here = [pair for pair in probes if pair[1] == frame.f_lineno and self._is_wanted(pair[0])]
                for pair in here:
                    probes.remove(pair)
                    begun.append((pair[0], tuple(_NotedLock.held()), pair[0].arrives(frame.f_locals)))
            elif event == "return":
                thread = threading.current_thread().name
                for probe, locks, arrives in begun:
                    leaves = probe.leaves(frame.f_locals, arg)
                    self.sightings.append(Sighting(probe.step, thread, locks, arrives, leaves))
            return trace

        return trace

    def _is_wanted(self, probe: Probe) -> bool:
        return self.armed and sum(seen.step == probe.step for seen in self.sightings) < probe.times

    def _line_of(self, probe: Probe, code: CodeType) -> int:
        """Return the line of the step if it is in this code, otherwise the first line of the code."""
        lines = sorted({line for _, _, line in code.co_lines() if line is not None} - {code.co_firstlineno})
        path, step_line = self._places[probe.step]
        inside = Path(code.co_filename).resolve() == path and lines[0] <= step_line <= lines[-1]
        return next(line for line in lines if line >= step_line) if inside else lines[0]


@contextmanager
def noted_locks() -> Iterator[None]:
    """Return a context manager. Each lock that is created in its block records its holder."""
    before = set_lock_factory(_NotedLock)
    try:
        yield
    finally:
        set_lock_factory(before)
