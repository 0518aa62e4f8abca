"""Chapter 2: the reflector keeps a copy of one kind up to date, even if a connection or the server fails."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Self

from handloop.controller.foo.types import Foo
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.event_intake import EventIntake
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.listwatch import ListWatch
from handloop.informers.outage import Outage, RetryPause
from handloop.informers.quarantine import Quarantine
from handloop.informers.reflector import Reflector, ReflectorStatistics, State
from handloop.informers.restriction import Whole
from handloop.seams.seams import Seams
from handloop_learn.clocks import FastClock
from handloop_learn.prediction import NO, Words
from handloop_learn.screen import Colour, Screen
from handloop_learn.source import cut
from handloop_learn.stage import Stage
from handloop_learn.waiting import until

RECAP: Final = (
    "List once, and then watch. From then on, the server sends only changes.",
    "After a broken connection, watch again. After a 410, and after some rarer errors, list again.",
    "The waits between retries grow and are partly random, so that the server can recover.",
)


class End(NamedTuple):
    """Statistics after the list, the broken connection and the 410; the last waits; the names received."""

    listed: ReflectorStatistics
    resumed: ReflectorStatistics
    relisted: ReflectorStatistics
    waited: list[float]
    names: list[str]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage(lifelike=False) as stage:
        stage.apply("one")
        screen.tell(
            "A reflector copies all objects of one kind into a store, and then follows their changes. It is "
            "always in one of four states:"
        )
        screen.code(cut(Reflector._step, "match state", "self._read_watch"))
        with ShownReflector(stage, screen) as shown:
            screen.tell(
                "We start a reflector on a cluster with one Foo. The reflector's clock runs "
                f"{shown.clock.times:g} times as fast as a real one."
            )
            listed = shown.once_it_has("one")
            _show(screen, listed)
            screen.ask("The connection breaks, and the Foo `two` is created. Are all Foos listed again?")
            stage.sandbox.faults.drop_watches("reset", only_open=True)
            stage.apply("two")
            resumed = shown.once_it_has("two")
            _show(screen, resumed)
            screen.reveal(
                "No. After a short wait (the back-off), a second watch continued from version "
                f"{listed.last_sync_resource_version} and received only the changes that the first one had "
                "missed. Listing 10,000 objects after every broken connection would be expensive.",
                NO,
            )
            screen.break_it(
                "the server drops its log, as an API server does after a few minutes or many changes. The "
                f"open watch, number {resumed.watches}, gets a 410, and the Foo `three` is created.",
                "What does the reflector do now: watch again, or list again?",
            )
            stage.sandbox.faults.expire(only_open=True)
            stage.apply("three")
            relisted = shown.once_it_has("three")
            _show(screen, relisted)
            screen.reveal(
                "It lists again, because the log no longer reaches back to its version. The server has to "
                f"send everything again. Watch {relisted.watches} continues from the new list's version.",
                Words(("list", "lists", "relist"), ("watch", "watches", "nothing")),
            )
            waited = _refused(screen, stage, shown)
    return End(listed, resumed, relisted, waited, shown.store.names)


def _refused(screen: Screen, stage: Stage, shown: ShownReflector) -> list[float]:
    """Make the server refuse lists, too. Returns: each wait in seconds."""
    # client-go @32ce75a7d: tools/cache/reflector.go, watch and handleWatch; ours: relist_policy.py
    screen.tell(
        "Some rarer errors also require a list. client-go lists again if a watch ends within a second "
        "without an event, or if the server refuses it with any code but 429. Our reflector lists again "
        "after five watches in a row that returned only an error."
    )
    screen.break_it(
        "the open watch gets another 410, and the server refuses the next three lists with 503. The "
        "Foo `four` is created.",
        "How many times does the reflector wait before it has `four`?",
    )
    waited_before = len(shown.pause.waited)
    stage.sandbox.faults.error(503, verbs=["list"], resources=["foos"], count=3)
    stage.sandbox.faults.expire(only_open=True)
    stage.apply("four")
    shown.once_it_has("four")
    waited = shown.pause.waited[waited_before:]
    screen.reveal(
        f"{len(waited)}: once after the 410, and once after each refused list. Each wait is longer than the "
        "one before, and partly random, so that many clients do not all retry at once.",
        len(waited),
    )
    return waited


def _show(screen: Screen, seen: ReflectorStatistics) -> None:
    relists = ", ".join(f"{count} ({reason})" for reason, count in seen.relists.items())
    screen.show(
        state=seen.state,
        watches_so_far=seen.watches,
        lists_after_the_first=relists or 0,
        last_version=seen.last_sync_resource_version,
    )


class ShownStore:
    """
    A stand-in for DeltaFIFO that shows what it receives.

    State: names holds the names, in arrival order. Threads: runs on the reflector's thread.
    """

    def __init__(self, screen: Screen) -> None:
        self.names: list[str] = []
        self._screen = screen

    def enqueue_batch(self, entries: Iterable[tuple[DeltaType, Any]]) -> None:
        """Show a batch of watch events, and record their names."""
        for delta_type, foo in entries:
            self._screen.line(f"watch event: {delta_type} {foo.metadata.name}", Colour.GREEN)
            self.names.append(foo.metadata.name)

    def replace(self, objects: Listed[Foo], resource_version: str) -> None:
        """Show a list, and record its names."""
        names = [foo.metadata.name for foo in objects]
        self._screen.line(f"LIST at version {resource_version}: {', '.join(names)}", Colour.RED)
        self.names += names


class ShownPause(RetryPause):
    """
    A RetryPause that shows each wait.

    State: waited holds each wait in seconds. Threads: runs on the reflector's thread.
    """

    def __init__(self, screen: Screen, seams: Seams) -> None:
        super().__init__(seams=seams)
        self.waited: list[float] = []
        self._screen = screen

    def wait(self, seconds: float, *, gone: bool, returns_seen: int | None = None) -> None:
        """Show how long the wait is, and then wait. After a stop, show and record nothing."""
        if not self.stopped.is_set():
            self._screen.line(f"back off for {seconds:.1f} s", Colour.YELLOW)
            self.waited.append(seconds)
        super().wait(seconds, gone=gone, returns_seen=returns_seen)


class ShownReflector:
    """A reflector of Foos with a fast clock. It runs on its own thread inside a `with` block."""

    def __init__(self, stage: Stage, screen: Screen) -> None:
        self.clock = FastClock()
        seams = Seams(clock=self.clock)
        metrics = InformerMetrics()
        self.store = ShownStore(screen)
        self.pause = ShownPause(screen, seams)
        everything = Whole(ListWatch(stage.client.resource(Foo), supports_watch_list=False))
        self.reflector: Reflector[Foo] = Reflector(
            everything,
            Foo,
            EventIntake(
                self.store,
                guard=HistoryGuard(),
                quarantine=Quarantine(kind="Foo", gauge=metrics.quarantined),
                restriction=everything,
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
        """Wait until the named Foo has arrived and a watch is open. Returns: the statistics."""
        until(lambda: name in self.store.names, f"the Foo {name}")
        until(lambda: self.reflector.statistics().state is State.WATCHING, "an open watch")
        return self.reflector.statistics()
