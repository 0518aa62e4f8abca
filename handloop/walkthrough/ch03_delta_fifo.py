"""Chapter 3: between reflector and informer, a key stands in line once, however often its object changes."""

from __future__ import annotations

from typing import Final, NamedTuple

from handloop.apis.meta import ObjectMeta
from handloop.controller.foo.types import Foo, FooSpec
from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, Listed, extend
from handloop.informers.indexer import Indexer
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import cut

EVENTS: Final = "Added a 1, Added b 1, Updated a 2, Updated a 3, Updated b 2"


class End(NamedTuple):
    """Keys of the first pop; deltas by name after the events, a relist, a late event and a resync."""

    pops: int
    deltas: list[dict[str, list[str]]]
    stored: list[str]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    store: Indexer[Foo] = Indexer()
    fifo: DeltaFIFO[Foo] = DeltaFIFO(store)
    screen.tell("The reflector puts watch events into the DeltaFIFO as deltas: a type, and the object.")
    screen.ask("Foo `a` has three events, `b` has two. How many keys does the informer pop then?")
    for word, name, replicas in map(str.split, EVENTS.split(", ")):
        fifo.enqueue_batch([(DeltaType(word), _foo(name, int(replicas)))])
        screen.line(f"{word:<8} {name}   queue={list(fifo._queue)}   items={_types(fifo)}")
    deltas, pops = [_types(fifo)], _pop(fifo, store)
    screen.reveal(f"{pops}, each with all its deltas. A key keeps its place in line while more deltas come:")
    screen.code(cut(DeltaFIFO._append_locked, "if deltas is not None", "queue.append"))
    screen.break_it("`b` is deleted while the watch is down. The next list has only `a`.")
    listed: Listed[Foo] = Listed()
    listed.take("default/a", _foo("a", 3))
    fifo.replace(listed)
    deltas.append(_types(fifo))
    screen.show(stored=store.list_keys(), items=deltas[-1])
    screen.tell("Only the store still has `b`. The FIFO queued a tombstone: a Deleted with that old state.")
    screen.tell("The watch event comes late and replaces the tombstone: two Deleted in a row become one.")
    fifo.enqueue_batch([(DeltaType.DELETED, _foo("b", 2))])
    deltas.append(_types(fifo))
    screen.show(items=deltas[-1])
    screen.code(cut(extend, "if delta.type", "deltas[-1] = delta"))
    _pop(fifo, store)
    fifo.resync()
    deltas.append(_types(fifo))
    screen.show(stored=store.list_keys(), after_a_resync=deltas[-1])
    screen.tell("Replaced: a list had the object. Sync: a resync. Neither says that it has changed.")
    screen.tell("client-go 1.33 and newer can use a RealFIFO. It does not join the events of a key.")
    return End(pops, deltas, store.list_keys())


def _foo(name: str, replicas: int) -> Foo:
    return Foo(metadata=ObjectMeta(namespace="default", name=name), spec=FooSpec(replicas=replicas))


def _types(fifo: DeltaFIFO[Foo]) -> dict[str, list[str]]:
    return {key.partition("/")[2]: [*map(_word, deltas)] for key, deltas in fifo._items.items()}


def _word(delta: Delta[Foo]) -> str:
    return f"Deleted({type(delta.object).__name__})" if delta.type is DeltaType.DELETED else str(delta.type)


def _pop(fifo: DeltaFIFO[Foo], store: Indexer[Foo]) -> int:
    def process(batch: list[tuple[Deltas[Foo], bool]]) -> None:
        for deltas, _ in batch:
            store.apply(deltas)

    return fifo.pop_batch(process)


if __name__ == "__main__":
    run_alone(__file__)
