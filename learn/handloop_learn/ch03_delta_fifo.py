"""Chapter 3: between the reflector and the informer, a queue groups changes by object key."""

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
    "Five events become two keys in the queue. A key's waiting events are handled together.",
    (
        "A list contains what exists. The FIFO compares it with the store, and queues tombstones for "
        "deletions."
    ),
    (
        "Today's client-go queues single events, in order. For a sync this makes no difference, because it "
        "reads only the current state."
    ),
)


class End(NamedTuple):
    """The events that handlers receive; the deltas after events, lists and a resync; the stored keys."""

    orders: tuple[list[str], list[str]]
    deltas: list[dict[str, list[str]]]
    stored: list[str]


class RealFIFO(deque[Delta[Foo]]):
    """The part of client-go's RealFIFO that matters here: single events, in the order of their arrival."""

    def pop_into(self, store: Indexer[Foo]) -> list[str]:
        """Store all events. Returns: each event as a handler receives it."""
        return [_stored(self.popleft(), store) for _ in range(len(self))]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    store: Indexer[Foo] = Indexer()
    fifo: DeltaFIFO[Foo] = DeltaFIFO(store)
    real = RealFIFO()
    screen.tell(
        "The reflector puts watch events into the DeltaFIFO as deltas. A delta is a type and an object."
    )
    screen.ask("Three events arrive for the Foo `a`, and two for `b`. How many keys are in the queue then?")
    for word, name, replicas in map(str.split, EVENTS.split(", ")):
        delta = Delta(DeltaType(word), _foo(name, int(replicas)))
        fifo.enqueue_batch([delta])
        real.append(delta)
        said = "  ".join(f"{key}: {', '.join(types)}" for key, types in _types(fifo).items())
        screen.line(f"{word:<7} {name} -> {said}")
    deltas, joined = [_types(fifo)], _pop(fifo, store)
    screen.reveal(
        f"{len(deltas[0])}, each with all its deltas. A new delta does not change its key's position:",
        len(deltas[0]),
    )
    screen.code(cut(DeltaFIFO._append_locked, "if deltas is not None", "queue.append"))
    screen.tell("The `elif` drops the deletion of an object that is neither in the queue nor in the store.")
    orders = joined, real.pop_into(Indexer())
    _compare(screen, *orders)
    deltas += _lists(screen, fifo, store)
    screen.tell("Finally, a resync is due:")
    fifo.resync()
    deltas.append(_types(fifo))
    screen.show(stored=store.list_keys(), after_a_resync=deltas[-1])
    screen.tell(
        "Replaced means that a list contained the object. Sync means that a resync passes the stored object "
        "to the handlers again. Neither means that the object has changed. A resync sends no request, so it "
        "cannot find missed events."
    )
    return End(orders, deltas, store.list_keys())


def _compare(screen: Screen, joined: list[str], single: list[str]) -> None:
    """Show the order of events in today's client-go and in ours."""
    # client-go @32ce75a7d: features/known_features.go (InOrderInformers: on in 1.33, locked in 1.36;
    # UnlockWhileProcessingFIFO, AtomicFIFO: on in 1.36; InOrderInformersBatchProcess: on in 1.35),
    # tools/cache/controller.go (newQueueFIFO), tools/cache/the_real_fifo.go (whileProcessing_locked,
    # addReplaceToItemsLocked, PopBatch)
    screen.tell(
        "client-go used this queue for ten years. Since 1.33 its shared informers have used a RealFIFO by "
        "default, and since 1.36 this default cannot be changed. A RealFIFO does not group events:"
    )
    screen.code(whole(RealFIFO.pop_into))
    screen.tell("The handlers receive the same five events in this order:")
    screen.show(DeltaFIFO=", ".join(joined), RealFIFO=", ".join(single))
    screen.tell(
        "By default, a RealFIFO also releases its lock while events are processed. A whole list is one "
        "event, which is compared with the store when it is processed. One pop can process up to 1,000 "
        "events of different keys. We use the DeltaFIFO because most texts describe it, and it shows all "
        "waiting changes of a key in one place. A sync does not depend on the order of changes to different "
        "keys."
    )


def _lists(screen: Screen, fifo: DeltaFIFO[Foo], store: Indexer[Foo]) -> list[dict[str, list[str]]]:
    """Show a deletion that no watch reports, and one that both a watch and a list report."""
    screen.break_it(
        "`b` is deleted while the watch is down and the FIFO is empty. The next list has only `a`.",
        "Where is `b` still known: in the list, the FIFO, or the store?",
    )
    _relist(fifo, "a")
    unseen = _types(fifo)
    screen.show(stored=store.list_keys(), items=unseen)
    screen.reveal(
        "Only in the store. The FIFO compared the store with the list, and queued a tombstone: a Deleted "
        "delta with the object's last stored state.",
        Words(("store", "indexer", "cache"), ("list", "fifo", "queue", "nobody", "server")),
    )
    _pop(fifo, store)
    screen.tell(
        "Now `c` is added and popped, so the store has it. Then `c` is deleted. The watch reports the "
        "deletion and breaks, and a list follows before the next pop."
    )
    fifo.enqueue_batch([(DeltaType.ADDED, _foo("c", 1))])
    _pop(fifo, store)
    fifo.enqueue_batch([(DeltaType.DELETED, _foo("c", 2))])
    _relist(fifo, "a")
    both = _types(fifo)
    screen.show(items=both)
    screen.tell(
        "Only the watch's Deleted delta is left. It contains the final state, so the list's tombstone adds "
        "nothing."
    )
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
    """Store one delta. Returns: the name and the replicas that a handler receives."""
    store.apply([delta])
    foo = delta.object
    return f"{foo.metadata.name} {foo.spec.replicas}" if isinstance(foo, Foo) else f"{foo.key} gone"


def _pop(fifo: DeltaFIFO[Foo], store: Indexer[Foo]) -> list[str]:
    told: list[str] = []

    def process(batch: list[tuple[Deltas[Foo], bool]]) -> None:
        told.extend(_stored(delta, store) for deltas, _ in batch for delta in deltas)

    fifo.pop_batch(process)
    return told
