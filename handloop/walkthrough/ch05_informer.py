"""Chapter 5: one informer, many handlers. Each has its own buffer and thread, so none waits for another."""

from __future__ import annotations

from typing import Final, NamedTuple

from handloop.controller.foo.types import Foo
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import InformerOptions
from handloop.informers.processor import PANIC_PAUSE_SECONDS, ProcessorListener
from handloop.seams.seams import Seams
from handloop.walkthrough.clocks import HandClock
from handloop.walkthrough.listener_counts import Listeners, once
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import cut
from handloop.walkthrough.stage import Stage, started
from handloop.walkthrough.waiting import until
from handloop.walkthrough.waiting_handler import WaitingHandler

RESYNC_SECONDS: Final = 30
OPTIONS: Final = InformerOptions(resync_seconds=RESYNC_SECONDS)


class End(NamedTuple):
    """Requests; listeners (fast, slow) while one blocks, and at last; versions and identity in a resync."""

    requests: int
    blocked: Listeners
    resyncs: list[tuple[str, str, bool]]
    last: Listeners


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
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
            screen.ask("Three Foos are created. How many does the first handler see while the second blocks?")
            for name in ("one", "two", "three"):
                stage.apply(name)
            blocked = once(screen, informer, (3, 0), (0, 3))
            screen.reveal(f"{blocked[0].handled}. Only the buffer of the slow one grows. It has no limit.")
            screen.show(requests_for_both=dict(stage.counts))
            screen.tell("One watch serves both. Each has a listener: a thread that empties its buffer.")
            screen.code(cut(ProcessorListener._take, "while not", "taken, self"))
            slow.open()
            screen.tell(f"The second goes on. {RESYNC_SECONDS} s pass, the first handler's resync period:")
            clock.advance(RESYNC_SECONDS)
            until(lambda: len(resyncs) == 3, "a resync")
            screen.table(("old version", "new version", "same object"), resyncs)
            screen.tell("A resync shows each stored object again. Nothing changed, and no request was sent.")
            screen.break_it("two more Foos are created. For one, the first handler raises.")
            stage.apply("poison")
            until(lambda: clock.is_slept_on, "the pause after the failure")
            stage.apply("five")
            clock.advance(PANIC_PAUSE_SECONDS)
            last = once(screen, informer, (8, 0), (5, 0))
            screen.tell(
                f"Its listener waited {PANIC_PAUSE_SECONDS:g} s and went on. Resyncs count as handled."
            )
        return End(stage.counts.total(), blocked, resyncs, last)


if __name__ == "__main__":
    run_alone(__file__)
