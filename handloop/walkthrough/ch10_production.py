"""Chapter 10: two replicas and one lease, rights, a leader that is cut off, metrics, and an orderly end."""

from __future__ import annotations

from typing import Final, NamedTuple

from handloop.walkthrough.clocks import FastClock
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.replica import WORKERS, Replica, holder, refusal_without_roles
from handloop.walkthrough.screen import Colour, Screen
from handloop.walkthrough.stage import Stage
from handloop.walkthrough.waiting import until

ADDS: Final = "workqueue_adds_total"


class End(NamedTuple):
    """(holder, ada's workers, bob's) first and last; the takeover; a refusal; adds; bob's last threads."""

    first: tuple[str, int, int]
    last: tuple[str, int, int]
    seconds: tuple[float, float]
    ada_gave_up: bool
    refusal: str
    adds: float
    holder: str
    order: list[str]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    clock = FastClock(times=8)
    with Stage(users=("ada", "bob")) as stage, Replica(stage, "ada", clock) as ada:
        until(lambda: ada.workers == WORKERS and ada.synced, "a leader")
        with Replica(stage, "bob", clock) as bob:
            until(lambda: bob.synced and "ada" in bob.readiness(), "bob as a standby")
            screen.tell(
                f"Two replicas of a controller run, ada and bob, on a clock {clock.times:g} times as fast."
            )
            screen.ask("Which of them works, and what does the other one do meanwhile?")
            first = _show(screen, stage, ada, bob)
            screen.reveal(
                f"{first[0]} works: its name stands in the lease. The other keeps its caches full, and waits."
            )
            screen.break_it("a controller without any RBAC role lists Foos. The server says:")
            screen.line(refusal := refusal_without_roles(stage), Colour.RED)
            screen.tell("`python -m handloop manifests rbac` prints the roles that the controllers need.")
            screen.break_it("the server answers ada with errors only, so ada cannot renew the lease.")
            cut_at = clock.now()
            stage.sandbox.faults.error(500, user="ada")
            until(lambda: bob.workers == WORKERS and not ada.workers, "the takeover")
            seconds = clock.now() - cut_at, bob.began["worker-0"] - ada.ended["worker-0"]
            last = _show(screen, stage, ada, bob)
            screen.show(seconds_until_bob_works=f"{seconds[0]:.1f}", **ada.durations())
            screen.tell(
                f"ada's workers ended {seconds[1]:.1f} s before bob's began: ada gives up after the "
                "renew deadline, bob waits for the lease duration."
            )
            stage.apply()
            until(lambda: bob.metric(ADDS), "a name in bob's queue")
            adds = bob.metric(ADDS)
            screen.line(f"A Foo is applied. bob's {ADDS}, named as in client-go: {adds:g}")
            screen.tell("Now bob is told to stop. Its threads end in this order:")
            order = bob.stopped()
            screen.line(" > ".join(order))
            screen.show(readyz=bob.readiness(), holder_of_the_lease=holder(stage) or "nobody")
            screen.tell("Workers end before the caches that they read. The lease is free at once.")
        return End(first, last, seconds, ada.lost, refusal, adds, holder(stage), order)


def _show(screen: Screen, stage: Stage, *replicas: Replica) -> tuple[str, int, int]:
    rows = [(one.name, one.workers, one.synced, one.readiness()) for one in replicas]
    screen.table(("replica", "workers", "caches full", "/readyz"), rows)
    screen.show(holder_of_the_lease=holder(stage))
    return holder(stage), replicas[0].workers, replicas[1].workers


if __name__ == "__main__":
    run_alone(__file__)
