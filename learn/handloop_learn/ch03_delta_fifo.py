"""Chapter 3: between reflector and informer, changes wait by key."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from handloop.apis.meta import ObjectMeta
from handloop.controller.foo.types import Foo, FooSpec
from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, Listed, extend
from handloop.informers.indexer import Indexer
from handloop_learn.prediction import Words
from handloop_learn.screen import Screen
from handloop_learn.source import cut, whole

EVENTS: Final = "Added a 1, Added b 1, Updated a 2, Updated a 3, Updated b 2"
RECAP: Final = (
    "Five events, two keys: the events of a key are handled together.",
    "A list says what exists. What was deleted is found by comparing, and becomes a tombstone.",
    (
        "Today's client-go keeps single events in their order. A sync looks only at the present, so it "
        "cannot tell the difference."
    ),
)


class End(NamedTuple):
    """In which order handlers hear; deltas after events, lists and a resync; the stored keys."""

    orders: tuple[list[str], list[str]]
    deltas: list[dict[str, list[str]]]
    stored: list[str]


class RealFIFO(deque[Delta[Foo]]):
    """What matters of client-go's: single events, in the order in which they came."""

    def pop_into(self, store: Indexer[Foo]) -> list[str]:
        """Store all there is. Returns: each event as a handler hears of it."""
        return [_stored(self.popleft(), store) for _ in range(len(self))]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    store: Indexer[Foo] = Indexer()
    fifo: DeltaFIFO[Foo] = DeltaFIFO(store)
    real = RealFIFO()
    screen.tell("The reflector puts watch events into the DeltaFIFO as deltas: a type, and the object.")
    screen.ask("Foo `a` has three events, `b` has two. How many keys are in line then?")
    for word, name, replicas in map(str.split, EVENTS.split(", ")):
        delta = Delta(DeltaType(word), _foo(name, int(replicas)))
        fifo.enqueue_batch([delta])
        real.append(delta)
        said = "  ".join(f"{key}: {', '.join(types)}" for key, types in _types(fifo).items())
        screen.line(f"{word:<7} {name} -> {said}")
    deltas, joined = [_types(fifo)], _pop(fifo, store)
    screen.reveal(f"{len(deltas[0])}, each with all its deltas. A key keeps its place:", len(deltas[0]))
    screen.code(cut(DeltaFIFO._append_locked, "if deltas is not None", "queue.append"))
    screen.tell("The `elif` drops the deletion of an object that neither queue nor store knows.")
    orders = joined, real.pop_into(Indexer())
    _compare(screen, *orders)
    deltas += _lists(screen, fifo, store)
    screen.tell("Last, a resync is due:")
    fifo.resync()
    deltas.append(_types(fifo))
    screen.show(stored=store.list_keys(), after_a_resync=deltas[-1])
    screen.tell(
        "Replaced: a list had the object. Sync: a resync shows handlers once more what is stored. "
        "Neither says that it has changed, and a resync asks no server, so it finds no event that was "
        "missed."
    )
    return End(orders, deltas, store.list_keys())


def _compare(screen: Screen, joined: list[str], single: list[str]) -> None:
    """The order of today's client-go beside ours."""
    # client-go @32ce75a7d: features/known_features.go (InOrderInformers: on in 1.33, locked in 1.36;
    # UnlockWhileProcessingFIFO, AtomicFIFO: on in 1.36; InOrderInformersBatchProcess: on in 1.35),
    # tools/cache/controller.go (newQueueFIFO), tools/cache/the_real_fifo.go (whileProcessing_locked,
    # addReplaceToItemsLocked, PopBatch)
    screen.tell(
        "This is the queue that client-go had for ten years. Since 1.33 its shared informers have used a "
        "RealFIFO by default, and since 1.36 no switch brings the old one back. A RealFIFO joins nothing:"
    )
    screen.code(whole(RealFIFO.pop_into))
    screen.tell("The same five events, as the handlers hear of them:")
    screen.show(DeltaFIFO=", ".join(joined), RealFIFO=", ".join(single))
    screen.tell(
        "A RealFIFO also releases its lock, by default, while events are processed, and a whole list is a "
        "single event, which is compared with the store at that time. It can take up to 1,000 events of "
        "different keys at once. Ours is the DeltaFIFO because it is the one that people read about, and it "
        "shows everything that waits for a key in one place. A sync needs no order across keys."
    )


def _lists(screen: Screen, fifo: DeltaFIFO[Foo], store: Indexer[Foo]) -> list[dict[str, list[str]]]:
    """A deletion that no watch saw, and one that a watch and a list both tell of."""
    screen.break_it(
        "`b` is deleted while the watch is down; the FIFO is empty. The next list has only `a`.",
        "Who still knows `b`: the list, the FIFO, or the store?",
    )
    _relist(fifo, "a")
    unseen = _types(fifo)
    screen.show(stored=store.list_keys(), items=unseen)
    screen.reveal(
        "Only the store. The FIFO compared it with the list, and queued a tombstone: a Deleted with the "
        "last state that the store had.",
        Words(("store", "indexer", "cache"), ("list", "fifo", "queue", "nobody", "server")),
    )
    _pop(fifo, store)
    screen.tell(
        "Now `c` is added and popped, so the store has it. Then it is deleted: the watch says so and breaks, "
        "and a list follows before the next pop."
    )
    fifo.enqueue_batch([(DeltaType.ADDED, _foo("c", 1))])
    _pop(fifo, store)
    fifo.enqueue_batch([(DeltaType.DELETED, _foo("c", 2))])
    _relist(fifo, "a")
    both = _types(fifo)
    screen.show(items=both)
    screen.tell("One Deleted, with the final state: it came first, and a tombstone adds nothing new.")
    screen.code(cut(extend, "if delta.type", "deltas[-1] = delta"))
    _pop(fifo, store)
    return [unseen, both]


def _relist(fifo: DeltaFIFO[Foo], name: str) -> None:
    listed: Listed[Foo] = Listed()
    listed.take(f"default/{name}", _foo(name, 3))
    fifo.replace(listed)


def _foo(name: str, replicas: int) -> Foo:
    return Foo(metadata=ObjectMeta(namespace="default", name=name), spec=FooSpec(replicas=replicas))


def _types(fifo: DeltaFIFO[Foo]) -> dict[str, list[str]]:
    return {key.partition("/")[2]: [*map(_word, deltas)] for key, deltas in fifo._items.items()}


def _word(delta: Delta[Foo]) -> str:
    return f"Deleted({type(delta.object).__name__})" if delta.type is DeltaType.DELETED else str(delta.type)


def _stored(delta: Delta[Foo], store: Indexer[Foo]) -> str:
    """Store one delta. Returns: the name and the replicas that a handler is told."""
    store.apply([delta])
    foo = delta.object
    return f"{foo.metadata.name} {foo.spec.replicas}" if isinstance(foo, Foo) else f"{foo.key} gone"


def _pop(fifo: DeltaFIFO[Foo], store: Indexer[Foo]) -> list[str]:
    told: list[str] = []

    def process(batch: list[tuple[Deltas[Foo], bool]]) -> None:
        told.extend(_stored(delta, store) for deltas, _ in batch for delta in deltas)

    fifo.pop_batch(process)
    return told
