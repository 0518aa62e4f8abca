"""Chapter 2: the reflector keeps a copy of one kind, whatever happens to its connection and to the server."""

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
    "List once, then watch: from then on the copy costs only what changes.",
    "A broken connection costs another watch. A 410 costs a list, and so do some rarer errors.",
    "The waits between retries grow, and are partly random, so that a server can recover.",
)


class End(NamedTuple):
    """Statistics after the list, a cut, and a 410; the waits of refused lists; the names that arrived."""

    listed: ReflectorStatistics
    resumed: ReflectorStatistics
    relisted: ReflectorStatistics
    waited: list[float]
    names: list[str]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage(lifelike=False) as stage:
        stage.apply("one")
        screen.tell("A reflector copies one kind into a store, forever. It is always in one of four states:")
        screen.code(cut(Reflector._step, "match state", "self._read_watch"))
        with ShownReflector(stage, screen) as shown:
            screen.tell(
                "We start a reflector on a cluster with one Foo, on a clock that runs "
                f"{shown.clock.times:g} times as fast."
            )
            listed = shown.once_it_has("one")
            _show(screen, listed)
            screen.ask("The connection breaks, and `two` is created meanwhile. Is everything listed again?")
            stage.sandbox.faults.drop_watches("reset", only_open=True)
            stage.apply("two")
            resumed = shown.once_it_has("two")
            _show(screen, resumed)
            screen.reveal(
                "No. After a short wait, the back-off, a second watch continued from version "
                f"{listed.last_sync_resource_version}, and brought only what was missed. A list of 10,000 "
                "objects for each broken connection would be expensive.",
                NO,
            )
            screen.break_it(
                "the server forgets its log, as an API server does after some minutes or many changes. Watch "
                f"{resumed.watches}, the open one, gets a 410, and the Foo `three` is created.",
                "What does the reflector do now: watch again, or list again?",
            )
            stage.sandbox.faults.expire(only_open=True)
            stage.apply("three")
            relisted = shown.once_it_has("three")
            _show(screen, relisted)
            screen.reveal(
                "It lists, because the log no longer reaches back to our version. Only now is everything "
                f"sent again, and watch {relisted.watches} continues from the version of that list.",
                Words(("list", "lists", "relist"), ("watch", "watches", "nothing")),
            )
            waited = _refused(screen, stage, shown)
    return End(listed, resumed, relisted, waited, shown.store.names)


def _refused(screen: Screen, stage: Stage, shown: ShownReflector) -> list[float]:
    """Refuse lists, too. Returns: the seconds of each wait."""
    # client-go @32ce75a7d: tools/cache/reflector.go, watch and handleWatch; ours: relist_policy.py
    screen.tell(
        "Rarer errors cost a list, too. In client-go: a watch that ends within a second without an "
        "event, and a watch that is refused with anything but 429. Ours lists after five watches in "
        "a row that brought nothing but an error."
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
        f"{len(waited)}: one after the 410, and one after each refused list, each longer than "
        "the one before. They are partly random, so that many clients do not come back at once.",
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
    """Takes the place of the DeltaFIFO. State: names, in order of arrival. Threads: the reflector's."""

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

    def wait(self, seconds: float, *, gone: bool, returns_seen: int | None = None) -> None:
        """Show how long, then wait. After a stop there is nothing to wait for."""
        if not self.stopped.is_set():
            self._screen.line(f"back off for {seconds:.1f} s", Colour.YELLOW)
            self.waited.append(seconds)
        super().wait(seconds, gone=gone, returns_seen=returns_seen)


class ShownReflector:
    """A reflector of Foos on its thread, for the length of a `with`. Its clock runs fast."""

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
        """The statistics once a name has arrived and a watch is open. Blocks: until then."""
        until(lambda: name in self.store.names, f"the Foo {name}")
        until(lambda: self.reflector.statistics().state is State.WATCHING, "an open watch")
        return self.reflector.statistics()
