"""Chapter 4: the indexer serves reads from memory, finds objects by index, and shares them among readers."""

from __future__ import annotations

from collections.abc import Callable
from timeit import timeit
from typing import Final, NamedTuple

from handloop.controller.foo.types import Foo
from handloop.informers.factory import SharedInformerFactory
from handloop_learn.prediction import NO
from handloop_learn.screen import Screen
from handloop_learn.source import whole
from handloop_learn.stage import Stage, started

RECAP: Final = (
    "Filling the cache takes one watch. Reading it takes no request.",
    "An index finds the objects with a given value, without scanning all objects.",
    "All readers share the objects that a lister returns. Copy one before you change it.",
)


class End(NamedTuple):
    """The informer's and the lister's requests; what the index and the scan found; the errors of writes."""

    requests: tuple[int, int]
    same_object: bool
    indexed: list[str]
    scanned: list[str]
    refusals: list[str]
    replicas: int | None


def by_deployment(foo: Foo) -> list[str]:
    """Return the values under which the index lists a Foo."""
    return [foo.spec.deployment_name]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage() as stage:
        for number in range(60):
            stage.apply(f"foo-{number}", deployment=f"web-{number % 20}")
        factory = SharedInformerFactory(stage.client)
        informer, lister = factory.informer_for(Foo), factory.lister_for(Foo)
        informer.add_indexers({"deployment": by_deployment})
        with started(factory):
            filled = stage.counts.total()
            screen.tell(f"An informer has filled its store, the indexer, with {len(informer.indexer)} Foos.")
            screen.show(requests_so_far=dict(stage.counts), indexes=list(informer.indexer.indexers()))
            screen.tell(
                "One WATCH both lists and watches: with sendInitialEvents, the server first sends every Foo."
            )
            screen.tell(
                "A bookmark marks the end of the list. With an older server, the informer sends a GET per "
                "500 objects, and then a WATCH."
            )
            screen.ask(
                "A lister, which reads the store, gets each Foo by name. How many more requests does it send?"
            )
            names = [foo.metadata.name for foo in lister.list(namespace="default")]
            got = [foo for name in names if (foo := lister.get(name, namespace="default"))]
            asked = stage.counts.total() - filled
    screen.reveal(f"{asked} for {len(got)} objects, because a lister only reads the indexer.", asked)
    again = next(foo for foo in lister if foo.metadata.name == names[0])
    screen.show(the_same_object_twice=again is got[0])
    screen.tell(
        "The Deployment `web-3` disappears. An index finds the Foos that need a sync. It is a second "
        "dictionary, which maps values to keys. This function returns a Foo's values for the index "
        "`deployment`:"
    )
    screen.code(whole(by_deployment))
    screen.tell("These Foos name `web-3`, found through the index and by a scan of all Foos:")
    foos = informer.indexer
    find: list[Callable[[], list[Foo]]] = [lambda: foos.by_index("deployment", "web-3")]
    find += [lambda: [foo for foo in foos.list() if by_deployment(foo) == ["web-3"]]]
    seconds = [min(timeit(search, number=100) for _ in range(3)) / 100 for search in find]
    indexed, scanned = (sorted(foo.metadata.name for foo in search()) for search in find)
    for how, found, took in zip(("by_index", "a scan"), (indexed, scanned), seconds, strict=True):
        screen.line(f"{how}: {found} in {took * 1e6:.1f} us")
    refusals = _written(screen, again)
    return End((filled, asked), again is got[0], indexed, scanned, refusals, again.spec.replicas)


def _written(screen: Screen, again: Foo) -> list[str]:
    """Try to modify a cached Foo. Returns: the errors."""
    screen.break_it("a handler modifies an object in the cache.", "Does the cache change?")
    refusals = [_refusal(lambda: setattr(again.spec, "replicas", 9))]
    refusals += [_refusal(lambda: again.metadata.labels.update(team="mine"))]
    screen.show(replicas=refusals[0], labels=refusals[1], replicas_still=again.spec.replicas)
    screen.reveal("No. The objects in this cache cannot be changed.", NO)
    screen.tell(
        "In Go, cached objects can be changed, and the mistake goes unnoticed. All listers and handlers "
        "share the object, so they read a state that the server never had. A sync then finds no difference "
        "and writes nothing, until the object's next event restores the server's state. The change is also "
        "a data race, because another goroutine may be reading the object. So in Go, change only a DeepCopy."
    )
    return refusals


def _refusal(write: Callable[[], object]) -> str:
    try:
        write()
    except (AttributeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return "it was changed"
