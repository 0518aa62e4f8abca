"""
Tells what happens at the twelve steps of README's picture, while a viewer looks.

The steps' code asks `TRACE.on` first: one attribute test is all that a step costs while there is no viewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

Sink: TypeAlias = Callable[[int, str, str, dict[str, Any]], None]
"""
Takes (step, component, key, facts).

Called on the thread that takes the step, mostly with that part's lock held: it must not block, raise, or
call the part.
"""


class StepTrace:
    """
    Hands steps to one sink.

    State: on, True while there is a sink. Threads: any; a step that is being taken while the sink changes may
    still go to the old one.
    """

    __slots__ = ("_sink", "on")

    def __init__(self) -> None:
        self.on = False
        self._sink: Sink = _drop

    def start(self, sink: Sink) -> None:
        """Tell sink from now on, in the place of an earlier one."""
        self._sink = sink
        self.on = True

    def stop(self) -> None:
        """Tell nothing any more."""
        self.on = False
        self._sink = _drop

    def tell(self, step: int, component: str, key: object, **facts: Any) -> None:
        """
        Tell one step.

        Args: step from 1 to 12; component, such as the name of a queue or the plural of a kind; key, whose
        text is the object's store key, "" where a step has none; facts in words of their own.
        """
        self._sink(step, component, str(key), facts)


def _drop(step: int, component: str, key: str, facts: dict[str, Any]) -> None:
    pass


TRACE: Final = StepTrace()
"""The process's only one: the steps of all controllers go to the same page."""
