"""A reflector whose list, events and waits are lines on the screen: green goes on, red starts anew."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Self

from handloop.controller.foo.types import Foo
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.event_intake import EventIntake
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.informer_statistics import ReflectorStatistics, State
from handloop.informers.listwatch import ListWatch
from handloop.informers.outage import Outage, RetryPause
from handloop.informers.quarantine import Quarantine
from handloop.informers.reflector import Reflector
from handloop.seams.seams import Seams
from handloop.walkthrough.clocks import FastClock
from handloop.walkthrough.screen import Colour, Screen
from handloop.walkthrough.stage import Stage
from handloop.walkthrough.waiting import until


class ShownStore:
    """Stands where the DeltaFIFO stands. State: names, in the order of arrival. The reflector's thread."""

    def __init__(self, screen: Screen) -> None:
        self.names: list[str] = []
        self._screen = screen

    def enqueue_batch(self, entries: Iterable[tuple[DeltaType, Any]]) -> None:
        """Take a block of watch events."""
        for delta_type, foo in entries:
            self._screen.line(f"watch event: {delta_type} {foo.metadata.name}", Colour.GREEN)
            self.names.append(foo.metadata.name)

    def replace(self, objects: Listed[Foo], resource_version: str) -> None:
        """Take a list."""
        names = [foo.metadata.name for foo in objects]
        self._screen.line(f"LIST at version {resource_version}: {', '.join(names)}", Colour.RED)
        self.names += names


class ShownPause(RetryPause):
    """State: waited, the seconds of each wait. The reflector's thread."""

    def __init__(self, screen: Screen, seams: Seams) -> None:
        super().__init__(seams=seams)
        self.waited: list[float] = []
        self._screen = screen

    def wait(self, seconds: float, *, gone: bool) -> None:
        """Show how long, then wait. After a stop there is nothing to wait for."""
        if not self.stopped.is_set():
            self._screen.line(f"back off for {seconds:.1f} s", Colour.YELLOW)
            self.waited.append(seconds)
        super().wait(seconds, gone=gone)


class ShownReflector:
    """A reflector of Foos on its thread, for the length of a `with`. Its clock runs fast."""

    def __init__(self, stage: Stage, screen: Screen) -> None:
        self.clock = FastClock()
        seams = Seams(clock=self.clock)
        metrics = InformerMetrics()
        self.store = ShownStore(screen)
        self.pause = ShownPause(screen, seams)
        self.reflector: Reflector[Foo] = Reflector(
            ListWatch(stage.client.resource(Foo), supports_watch_list=False),
            Foo,
            EventIntake(
                self.store,
                guard=HistoryGuard(),
                quarantine=Quarantine(kind="Foo", gauge=metrics.quarantined),
                name="foos",
            ),
            Outage("foos", Foo.resource, pause=self.pause, clock=seams.clock),
            metrics=metrics,
            seams=seams,
        )
        self._thread = threading.Thread(target=self.reflector.run, name="reflector-foos")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.reflector.stop()
        self._thread.join()

    def once_it_has(self, name: str) -> ReflectorStatistics:
        """The statistics once a name has arrived and a watch is open. Blocks: until then."""
        until(lambda: name in self.store.names, f"the Foo {name}")
        until(lambda: self.reflector.statistics().state is State.WATCHING, "an open watch")
        return self.reflector.statistics()
