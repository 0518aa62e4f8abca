"""Chapter 2: the reflector lists once and then watches. A cut costs it a watch, a 410 a new list."""

from __future__ import annotations

from typing import NamedTuple

from handloop.informers.informer_statistics import ReflectorStatistics
from handloop.informers.reflector import Reflector
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.shown_reflector import ShownReflector
from handloop.walkthrough.source import cut
from handloop.walkthrough.stage import Stage


class End(NamedTuple):
    """Statistics after the list, a cut, and a 410; the waits of refused lists; the names that arrived."""

    listed: ReflectorStatistics
    resumed: ReflectorStatistics
    relisted: ReflectorStatistics
    waited: list[float]
    names: list[str]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage() as stage:
        stage.apply("one")
        screen.tell("A reflector copies one kind into a store, for ever. It is always in one of four states:")
        screen.code(cut(Reflector._step, "match state", "self._read_watch"))
        with ShownReflector(stage, screen) as shown:
            screen.tell(
                f"One starts on a cluster with a Foo. Its clock is {shown.clock.times:g} times as fast."
            )
            listed = shown.once_it_has("one")
            _show(screen, listed)
            screen.ask("The connection breaks, and `two` is created meanwhile. Is everything listed again?")
            stage.sandbox.faults.drop_watches("reset", only_open=True)
            stage.apply("two")
            resumed = shown.once_it_has("two")
            _show(screen, resumed)
            screen.reveal(
                "No. After a short wait, the back-off, a second watch went on from version "
                f"{listed.last_sync_resource_version}, and brought only what was missed. A list of 10,000 "
                "objects for each broken connection would be dear."
            )
            screen.break_it("the server forgets its log, and answers the watch with 410.")
            stage.sandbox.faults.expire(only_open=True)
            stage.apply("three")
            relisted = shown.once_it_has("three")
            _show(screen, relisted)
            screen.tell("410: the log no longer reaches back to our version. Only now all is listed again.")
            screen.break_it("the same, and the next three lists are refused with 503.")
            waited_before = len(shown.pause.waited)
            stage.sandbox.faults.error(503, verbs=["list"], resources=["foos"], count=3)
            stage.sandbox.faults.expire(only_open=True)
            stage.apply("four")
            shown.once_it_has("four")
            waited = shown.pause.waited[waited_before:]
            screen.tell(
                "One wait after the 410, one after each refused list, each longer than the one before. "
                "Chance is in it, so that many clients do not come back at once."
            )
    return End(listed, resumed, relisted, waited, shown.store.names)


def _show(screen: Screen, seen: ReflectorStatistics) -> None:
    relists = ", ".join(f"{count} ({reason})" for reason, count in seen.relists.items())
    screen.show(
        state=seen.state,
        watches_so_far=seen.watches,
        lists_after_the_first=relists or 0,
        last_version=seen.last_sync_resource_version,
    )


if __name__ == "__main__":
    run_alone(__file__)
