"""Chapter 5: one informer serves many handlers. What does a slow one do to the others?"""

from __future__ import annotations

import threading
from typing import Final, NamedTuple, Self, TypeAlias

from handloop.controller.foo.types import Foo
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.processor import ListenerStatistics, ProcessorListener
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.seams import Seams
from handloop_learn.clocks import HandClock
from handloop_learn.prediction import YES
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.stage import Stage, started
from handloop_learn.waiting import until

RESYNC_SECONDS: Final = 30
OPTIONS: Final = InformerOptions(resync_seconds=RESYNC_SECONDS)
Listeners: TypeAlias = tuple[ListenerStatistics, ...]
RECAP: Final = (
    "One watch and one cache serve all handlers of a kind.",
    "Each handler has its own buffer and thread, so a slow handler does not delay the others.",
    "A resync passes the stored objects to the handlers again, and sends no request.",
)


class End(NamedTuple):
    """The number of requests; the listeners while one blocks, and at the end; the calls of a resync."""

    requests: int
    blocked: Listeners
    resyncs: list[tuple[str, str, bool]]
    last: Listeners


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    clock, slow, resyncs = HandClock(), WaitingHandler(), list[tuple[str, str, bool]]()

    def fast_add(foo: Foo) -> None:
        if foo.metadata.name == "poison":
            raise ValueError("a bug in a handler")

    def fast_update(old: Foo, new: Foo) -> None:
        resyncs.append((old.metadata.resource_version, new.metadata.resource_version, old is new))

    with Stage() as stage:
        factory = SharedInformerFactory(stage.client, options=OPTIONS, seams=Seams(clock=clock))
        informer = factory.informer_for(Foo)
        informer.add_event_handler(ResourceEventHandlerFuncs(add_func=fast_add, update_func=fast_update))
        informer.add_event_handler(slow, resync_seconds=0)
        with started(factory), slow:
            screen.tell("One informer has two handlers. The second blocks in its first call.")
            screen.ask("Three Foos are created. How many does the first handler get while the second blocks?")
            for name in ("one", "two", "three"):
                stage.apply(name)
            blocked = once(screen, informer, (3, 0), (0, 3))
            screen.reveal(f"{blocked[0].handled}. Only the slow handler's buffer grows.", blocked[0].handled)
            screen.show(requests_for_both=dict(stage.counts))
            screen.tell("Both share one watch. Each has its own buffer, which a listener thread empties:")
            screen.code(cut(ProcessorListener._take, "while not", "taken, self"))
            slow.open()
            screen.tell(
                f"The second handler continues. Then {RESYNC_SECONDS} s pass, which is the first handler's "
                "resync period:"
            )
            clock.advance(RESYNC_SECONDS)
            until(lambda: len(resyncs) == 3, "a resync")
            screen.table(("old version", "new version", "same object"), resyncs)
            screen.tell(
                "A resync passes each stored object to the handler again. A resync sends no request, so it "
                "cannot make up for a missed event. Resyncs are for a controller that also depends on "
                "something without events, such as a cloud API or the time."
            )
            last = _poisoned(screen, stage, informer)
        return End(stage.counts.total(), blocked, resyncs, last)


def _poisoned(screen: Screen, stage: Stage, informer: SharedIndexInformer[Foo]) -> Listeners:
    """Let the first handler raise. Returns: the listeners afterwards."""
    screen.break_it(
        "two more Foos are created, and one of them makes the first handler raise an error.",
        "Does the second handler receive both?",
    )
    stage.apply("poison")
    stage.apply("five")
    last = once(screen, informer, (8, 0), (5, 0))
    # client-go @32ce75a7d: tools/cache/shared_informer.go, processorListener.run: HandleCrash, which
    # panics again unless ReallyCrash is false (apimachinery pkg/util/runtime/runtime.go)
    screen.reveal(
        "Yes, and so does the first one: the error is logged, and the handler is called for the next Foo. "
        "(The handled calls include resyncs.) In client-go, a handler's panic ends the whole process, "
        "because the panic is logged and then raised again.",
        YES,
    )
    return last


def once(screen: Screen, informer: SharedIndexInformer[Foo], *counts: tuple[int, int]) -> Listeners:
    """Wait until the listeners have these counts of handled and pending notifications, and show them."""

    def listeners() -> Listeners:
        return informer.statistics().listeners

    until(lambda: tuple((one.handled, one.pending) for one in listeners()) == counts, "the handlers")
    rows = [(number, one.handled, one.pending, one.panics) for number, one in enumerate(listeners(), 1)]
    screen.table(("handler", "handled", "buffered", "failed"), rows)
    return listeners()


class WaitingHandler:
    """
    Implements handloop.informers.handlers.ResourceEventHandler: each call waits until open() is called.

    Leaving the `with` also calls open(), so that the informer can end. Threads: the listener's thread waits;
    any thread can call open().
    """

    def __init__(self) -> None:
        self._gate = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def open(self) -> None:
        """Let all current and later calls return."""
        self._gate.set()

    def on_add(self, obj: Foo, is_in_initial_list: bool) -> None:  # noqa: ARG002, FBT001 - the Protocol's signature
        """Wait."""
        self._gate.wait()

    def on_update(self, old: Foo, new: Foo) -> None:  # noqa: ARG002 - the Protocol's signature
        """Wait."""
        self._gate.wait()

    def on_delete(self, obj: Foo | DeletedFinalStateUnknown[Foo]) -> None:  # noqa: ARG002 - the Protocol's signature
        """Wait."""
        self._gate.wait()
