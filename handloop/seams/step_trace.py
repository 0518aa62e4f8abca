"""
Reports what happens at the twelve steps of ARCHITECTURE's picture, while a viewer watches.

The steps' code checks `TRACE.on` first, so without a viewer a step costs only this attribute test.
Decision: The live page has no hook in the product.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TypeAlias

_MOST_CHARACTERS: Final = 200
_GET_KEY: Final = 8
_DONE: Final = 12

Sink: TypeAlias = Callable[[int, str, str, dict[str, Any]], None]
"""
Takes (step, component, key, facts).

Called on the thread that takes the step, usually with that part's lock held. It must not block, raise, or
call the part.
"""


class StepTrace:
    """
    Passes steps to one sink.

    State: on, True while a sink is set; _with_keys, the threads between (8) and (12).
    Threads: any. A step that is being taken while the sink changes may still go to the old one.
    """

    __slots__ = ("_sink", "_with_keys", "on")

    def __init__(self) -> None:
        self.on = False
        self._sink: Sink = _drop
        self._with_keys: set[int] = set()

    def start(self, sink: Sink) -> None:
        """Report to sink from now on, in place of an earlier sink."""
        self._sink = sink
        self._with_keys.clear()
        self.on = True

    def stop(self) -> None:
        """Stop reporting."""
        self.on = False
        self._sink = _drop

    def tell(self, step: int, component: str, key: object, **facts: Any) -> None:
        """
        Report one step.

        Args: step from 1 to 12; component, such as the name of a queue or the plural of a kind; key, whose
        text is the object's store key, "" for a step without one; facts in words of their own.
        """
        if step == _GET_KEY:
            self._with_keys.add(threading.get_ident())
        elif step == _DONE:
            self._with_keys.discard(threading.get_ident())
        self._sink(step, component, str(key), facts)

    def has_key(self) -> bool:
        """Return whether this thread is a worker with a key, which it got after the sink was set."""
        return threading.get_ident() in self._with_keys


def handled_error() -> str:
    """Return the class and text of the error that this thread is handling; "" = none."""
    error = sys.exception()
    return "" if error is None else short_text(error)


def short_text(error: BaseException) -> str:
    """Return the class and text of an error, on one line of at most 200 characters. Raises nothing."""
    try:
        text = str(error)[: 2 * _MOST_CHARACTERS]
    except BaseException:  # noqa: BLE001 - an author's __str__; the step must continue
        text = ""
    text = " ".join(f"{type(error).__name__}: {text}".split()).removesuffix(":")
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _drop(step: int, component: str, key: str, facts: dict[str, Any]) -> None:
    pass


TRACE: Final = StepTrace()
"""The process's only trace: the steps of all controllers go to the same page."""
