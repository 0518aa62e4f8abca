"""What the listeners of an informer have handled, and what waits in their buffers."""

from __future__ import annotations

from typing import TypeAlias

from handloop.controller.foo.types import Foo
from handloop.informers.informer_statistics import ListenerStatistics
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.waiting import until

Listeners: TypeAlias = tuple[ListenerStatistics, ...]


def once(screen: Screen, informer: SharedIndexInformer[Foo], *counts: tuple[int, int]) -> Listeners:
    """Show the listeners as soon as each has handled so many notifications, and so many are pending."""

    def listeners() -> Listeners:
        return informer.statistics().listeners

    until(lambda: tuple((one.handled, one.pending) for one in listeners()) == counts, "the handlers")
    rows = [(number, one.handled, one.pending, one.panics) for number, one in enumerate(listeners(), 1)]
    screen.table(("handler", "handled", "buffered", "failed"), rows)
    return listeners()
