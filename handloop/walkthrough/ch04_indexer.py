"""Chapter 4: the indexer answers from memory, by any index, with the one object that all share."""

from __future__ import annotations

from collections.abc import Callable
from timeit import timeit
from typing import NamedTuple

from handloop.controller.foo.types import Foo
from handloop.informers.factory import SharedInformerFactory
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import whole
from handloop.walkthrough.stage import Stage, started


class End(NamedTuple):
    """Requests to fill the cache and by the lister; results of index and scan; errors that writers got."""

    requests: tuple[int, int]
    same_object: bool
    indexed: list[str]
    scanned: list[str]
    refusals: list[str]
    replicas: int | None


def by_team(foo: Foo) -> list[str]:
    """An index function: the values under which a Foo is found."""
    return [foo.metadata.name.partition("-")[0]]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage() as stage:
        for number in range(60):
            stage.apply(f"team{number % 20}-{number}")
        factory = SharedInformerFactory(stage.client)
        informer, lister = factory.informer_for(Foo), factory.lister_for(Foo)
        informer.add_indexers({"team": by_team})
        with started(factory):
            filled = stage.counts.total()
            screen.tell(f"An informer has filled its store, the indexer, with {len(informer.indexer)} Foos.")
            screen.show(requests_so_far=dict(stage.counts), indexes=list(informer.indexer.indexers()))
            screen.tell("One WATCH was list and watch: asked by sendInitialEvents, it began with all Foos.")
            screen.tell("A bookmark ends that list. Older servers get a GET per 500 objects, then a WATCH.")
            screen.ask("A lister, the store's reader, gets each Foo by name. How many more requests is that?")
            names = [foo.metadata.name for foo in lister.list(namespace="default")]
            got = [foo for name in names if (foo := lister.get(name, namespace="default"))]
            asked = stage.counts.total() - filled
    screen.reveal(f"{asked}, for {len(got)} objects. A lister only looks into the indexer.")
    again = next(foo for foo in lister if foo.metadata.name == names[0])
    screen.show(the_same_object_twice=again is got[0])
    screen.tell("An index is a second dictionary, from values to keys. The values of index `team`:")
    screen.code(whole(by_team))
    foos = informer.indexer
    find: list[Callable[[], list[Foo]]] = [lambda: foos.by_index("team", "team3")]
    find += [lambda: [foo for foo in foos.list() if by_team(foo) == ["team3"]]]
    seconds = [min(timeit(search, number=100) for _ in range(3)) / 100 for search in find]
    indexed, scanned = (sorted(foo.metadata.name for foo in search()) for search in find)
    for how, found, took in zip(("by_index", "a look at all"), (indexed, scanned), seconds, strict=True):
        screen.line(f"{how}: {found} in {took * 1e6:.1f} us")
    screen.break_it("a handler writes into an object that it got from the cache.")
    refusals = [_refusal(lambda: setattr(again.spec, "replicas", 9))]
    refusals += [_refusal(lambda: again.metadata.labels.update(team="mine"))]
    screen.show(replicas=refusals[0], labels=refusals[1], replicas_still=again.spec.replicas)
    screen.tell("Objects of this cache cannot be changed. In Go they can, so one copies them first.")
    return End((filled, asked), again is got[0], indexed, scanned, refusals, again.spec.replicas)


def _refusal(write: Callable[[], object]) -> str:
    try:
        write()
    except (AttributeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return "it was changed"


if __name__ == "__main__":
    run_alone(__file__)
