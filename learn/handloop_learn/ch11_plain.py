"""Chapter 11: what breaks in the plain controller, and which piece of production.py prevents it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import OwnerReference
from handloop.controller.foo.controller import FooController, new_deployment
from handloop.controller.foo.production import ProductionFooController
from handloop_learn.by_hand import NAME, ByHand
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage
from handloop_learn.waiting import until

FOO: Final = f"{FOOS}/foo"
CHILD: Final = f"{DEPLOYMENTS}/foo"
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.samplecontroller.k8s.io"
ROUNDS: Final = 5
FAILURES: Final = 12
CLASSES: Final = (FooController, ProductionFooController)
RECAP: Final = (
    "The plain controller works while caches are fresh, nobody else writes, and users make no mistakes.",
    "A cache can lag by a minute. If an object disappears from it, ask the server before you act.",
    "Retry what can succeed later. Report what cannot succeed, but only once. Wait for what only needs time.",
)


class Piece(NamedTuple):
    """
    A piece of production.py, and a case in which it helps.

    number = its number in production.py; happens = what happens in the case; counts = what is counted; count
    = the function that runs the case with a controller on its own stage, and returns the count (less is
    better).
    """

    number: int
    happens: str
    counts: str
    count: Callable[[ByHand], int]


def storm(hand: ByHand) -> int:
    """The watch of Foos lags; the Foo is deleted, and the garbage collector deletes its Deployments."""
    hand.settled()
    hand.stage.send("DELETE", FOO)
    made, last = 0, hand.deployments.indexer.get_by_key(str(NAME))
    for _ in range(ROUNDS):
        until(lambda: hand.stage.send("GET", CHILD).get("code") == 404, "the garbage collector")
        hand.deployments.see()
        hand.controller._handle_deletion(last)
        posts = hand.stage.counts["POST"]
        hand.work()
        made += hand.stage.counts["POST"] - posts
    return made


def resyncs(hand: ByHand) -> int:
    """Nothing has changed, and a resync queues the Foo."""
    hand.settled()
    return sum(hand.work() for _ in range(ROUNDS))


def stranger(hand: ByHand) -> int:
    """A Deployment changes. Its owner is a Foo of the same name, but in another API group."""
    hand.settled()
    owner = OwnerReference(api_version="other.example/v1", kind="Foo", name="foo", uid="x", controller=True)
    deployment = hand.stage.client.resource(Deployment).get("foo", namespace="default")
    metadata = replace(deployment.metadata, owner_references=(owner,))
    for _ in range(ROUNDS):
        hand.controller._handle_object(replace(deployment, metadata=metadata))
    return len(hand.queue)


def foreground(hand: ByHand) -> int:
    """The Foo is deleted in the foreground, so it stays until its Deployment is gone."""
    hand.settled()
    posts = hand.stage.counts["POST"]
    for _ in range(ROUNDS):
        hand.stage.send("DELETE", FOO, {"propagationPolicy": "Foreground"})
        hand.stage.send("DELETE", CHILD)
        hand.see()
        hand.work()
    return hand.stage.counts["POST"] - posts


def freed_name(hand: ByHand) -> int:
    """The Deployment's name is taken, and becomes free after twelve failures."""
    hand.stage.apply("foo")
    hand.see()
    wanted = new_deployment(hand.foos.indexer.list()[0])
    foreign = replace(wanted, metadata=replace(wanted.metadata, owner_references=()))
    hand.stage.client.resource(Deployment).create(foreign, namespace="default")
    hand.see()
    for _ in range(FAILURES):
        hand.work()
    hand.stage.send("DELETE", CHILD)
    hand.see()
    hand.controller._handle_deletion(foreign)
    return 0 if len(hand.queue) else round(0.005 * 2 ** (FAILURES - 1))


def impossible(hand: ByHand) -> int:
    """A Foo wants a Deployment whose name no server accepts."""
    hand.stage.apply("foo", deployment="No_Name")
    hand.see()
    syncs = 1
    hand.work()
    while syncs < FAILURES and (delays := hand.delays()):
        hand.clock.advance(max(delays))
        until(lambda: len(hand.queue), "the retry")
        hand.work()
        syncs += 1
    return syncs


def rival(hand: ByHand) -> int:
    """Another writer repeatedly sets the Foo's status to something else."""
    hand.settled()
    puts = hand.stage.counts["PUT"]
    for _ in range(ROUNDS):
        hand.stage.send("PATCH", f"{FOO}/status", {"status": {"availableReplicas": 9}})
        hand.see()
        hand.work()
    return hand.stage.counts["PUT"] - puts


def repair(hand: ByHand) -> float:
    """
    Let the production controller repair the status after the other writer's last write.

    Returns: how many seconds the repair took.
    """
    rival(hand)
    seconds = max(hand.delays())
    hand.clock.advance(seconds)
    until(lambda: len(hand.queue), "the repair")
    hand.work()
    until(lambda: hand.stage.send("GET", FOO)["status"]["availableReplicas"] == 0, "the right status")
    return seconds


def no_status(hand: ByHand) -> int:
    """The CRD has no status subresource."""
    definition: dict[str, Any] = hand.stage.send("GET", DEFINITION)
    for version in definition["spec"]["versions"]:
        version.pop("subresources", None)
    hand.stage.send("PUT", DEFINITION, definition)
    hand.stage.apply("foo")
    failed = 0
    for _ in range(ROUNDS):
        hand.see()
        hand.work()
        failed += hand.queue.num_requeues(NAME) > failed
    return failed


def lag(hand: ByHand) -> int:
    """The Foo is new. Its Deployment exists but is not in the caches yet, and the Foo is queued again."""
    hand.stage.apply("foo")
    hand.see()
    hand.work()
    return sum(hand.work() for _ in range(ROUNDS))


STORM: Final = Piece(6, "the Foo is gone, but the cache still has it", "Deployments created", storm)
RIVAL: Final = Piece(7, f"another writer overwrites the status {ROUNDS} times", "immediate writes", rival)
PIECES: Final = (
    Piece(1, f"{ROUNDS} resyncs with nothing to do", "status writes", resyncs),
    Piece(2, f"{ROUNDS} changes to a Deployment of a Foo in another API group", "syncs of our Foo", stranger),
    Piece(3, "the Foo is being deleted", "Deployments created", foreground),
    Piece(4, f"the name becomes free after {FAILURES} failures", "seconds to wait", freed_name),
    Piece(5, "no server accepts the Deployment's name", f"syncs, at most {FAILURES}", impossible),
    RIVAL,
    Piece(8, "the CRD has no status subresource", f"failures in {ROUNDS} syncs", no_status),
    Piece(9, f"{ROUNDS} syncs before the caches have our writes", "refused creates", lag),
)
_OF: Final = ProductionFooController
LINES: Final = {
    1: cut(_OF._sync_status, "if status == foo.status", "return False"),
    2: cut(_OF._handle_object, "_FOO", "foo.metadata.uid != owner.uid"),
    3: cut(_OF.sync_handler, "if _is_being_deleted", "return"),
    4: cut(_OF._handle_deletion, "for foo in", "self._enqueue_foo"),
    5: cut(_OF.sync_handler, "except Invalid", "return"),
    6: cut(_OF.sync_handler, "self._owners.check"),
    7: cut(_OF._sync_status, "self._status_backoff"),
    8: cut(_OF._sync_status, "is_due ="),
    9: cut(_OF._sync, "self._writes.check"),
}
"""Each piece's source lines, by the piece's number."""


class End(NamedTuple):
    """
    The chapter's results.

    counted = the plain controller's count and the production controller's, by the piece's number;
    repair_seconds = how long the production controller took to repair a status.
    """

    counted: dict[int, tuple[int, int]]
    repair_seconds: float


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    screen.tell(
        "Most chapters run the plain controller, which is sample-controller in Python. `python -m "
        "controller` runs the production controller, which adds ten pieces in controller/foo/production.py. "
        "Nine of them each prevent a problem, and the tenth lets you pause a Foo."
    )
    screen.break_it(
        "the watch of Foos delivers no events while a Foo is deleted. The garbage collector deletes its "
        "Deployment, because the owner is gone. The controller receives that deletion, but its cache still "
        "has the Foo.",
        f"The garbage collector runs {ROUNDS} times. How many Deployments does the plain controller create?",
    )
    plain, hardened = _both(STORM)
    screen.show(Deployments_made_by_the_plain_one=plain, by_the_production_controller=hardened)
    screen.reveal(
        f"{plain}, and more until the watch delivers events again. Each Deployment starts pods.", plain
    )
    screen.tell(
        "Piece 6 remembers whose Deployment disappeared, and reads that Foo from the server before it "
        "writes anything. This costs one GET, and only after an unexpected deletion."
    )
    screen.code(LINES[STORM.number])
    screen.ask(f"{ROUNDS} resyncs find nothing to do. How many status writes does the plain controller send?")
    counted = {piece.number: _both(piece) for piece in PIECES}
    screen.reveal(
        f"{counted[1][0]}, with the same status each time. The Events of these syncs cost requests, too.",
        counted[1][0],
    )
    seconds = _later()
    _eight(screen, counted, seconds)
    return End({STORM.number: (plain, hardened), **counted}, seconds)


def _eight(screen: Screen, counted: dict[int, tuple[int, int]], repair_seconds: float) -> None:
    """Show all pieces except the one that prevents the endless new Deployments."""
    screen.tell("The other eight pieces, and what happens with and without them:")
    with_it = {number: str(counts[1]) for number, counts in counted.items()}
    with_it[RIVAL.number] += f", repaired after {repair_seconds:g} s"
    screen.table(
        ("piece", "what happens", "counted", "plain", "with the piece"),
        [
            (one.number, one.happens, one.counts, counted[one.number][0], with_it[one.number])
            for one in PIECES
        ],
    )
    screen.tell("These are the lines of each piece:")
    for piece in PIECES:
        screen.tell(f"Piece {piece.number} ({piece.happens}):")
        screen.code(LINES[piece.number])
    screen.tell(
        "sample-controller is an example, and does not need these pieces. A controller in a real cluster "
        "does."
    )


def _later() -> float:
    with Stage(lifelike=False) as stage, ByHand(stage, ProductionFooController) as hand:
        return repair(hand)


def _both(piece: Piece) -> tuple[int, int]:
    """Return the counts of both controllers in a piece's case. Each controller has its own server."""
    counts = []
    for controller in CLASSES:
        with Stage(lifelike=piece is STORM) as stage, ByHand(stage, controller) as hand:
            counts.append(piece.count(hand))
    return counts[0], counts[1]
