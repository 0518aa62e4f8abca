"""
Reports what happens at the twelve steps of the picture in ARCHITECTURE.md, while a viewer watches.

Every step checks `TRACE.on` first, so that a step without a viewer costs only this attribute test.
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

It is called on the thread that takes the step, usually with the component's lock held. It must not block,
raise, or call the component.
"""


class StepTrace:
    """
    Passes steps to one sink.

    State: on is True while a sink is set; _with_keys has the threads between steps (8) and (12), that is, the
    workers that have a key. Threads: usable from any thread. A step that is being reported while the sink
    changes may still go to the old sink.
    """

    __slots__ = ("_sink", "_with_keys", "on")

    def __init__(self) -> None:
        self.on = False
        self._sink: Sink = _drop
        self._with_keys: set[int] = set()

    def start(self, sink: Sink) -> None:
        """Report all steps to sink from now on. Any earlier sink is replaced."""
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

        Args: step is from 1 to 12. component is, for example, a queue's name or a kind's plural. key, as a
        string, is the object's store key, or "" for a step without an object. facts depend on the step.
        """
        if step == _GET_KEY:
            self._with_keys.add(threading.get_ident())
        elif step == _DONE:
            self._with_keys.discard(threading.get_ident())
        self._sink(step, component, str(key), facts)

    def has_key(self) -> bool:
        """Return whether this thread is a worker that received its key after the sink was set."""
        return threading.get_ident() in self._with_keys


def handled_error() -> str:
    """Return the class and text of the error that this thread is handling, or "" if there is none."""
    error = sys.exception()
    return "" if error is None else short_text(error)


def short_text(error: BaseException) -> str:
    """Return the class and text of an error, on one line of at most 200 characters. This never raises."""
    try:
        text = str(error)[: 2 * _MOST_CHARACTERS]
    except BaseException:  # noqa: BLE001 - an author's __str__ failed; the step must go on
        text = ""
    text = " ".join(f"{type(error).__name__}: {text}".split()).removesuffix(":")
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _drop(step: int, component: str, key: str, facts: dict[str, Any]) -> None:
    pass


TRACE: Final = StepTrace()
"""The process has only one trace, because the steps of all controllers appear on the same page."""
