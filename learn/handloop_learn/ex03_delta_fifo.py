"""The exercise of chapter 3: process the deltas from a DeltaFIFO, as an informer does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from handloop.apis.meta import ObjectMeta
from handloop.controller.foo.types import Foo, FooSpec
from handloop.informers.delta_fifo import DeltaFIFO, DeltaType, Listed
from handloop.informers.indexer import Indexer
from handloop_learn.exercise import Exercise, Load, WrongError, expect

START: Final = '''\
"""Chapter 3: apply the deltas of one key to the store, and tell the handlers."""

from handloop.informers.keys import DeletedFinalStateUnknown  # (key, obj): a deletion that no watch saw


def process(key, deltas, store, tell):
    """
    deltas  pairs (type, object), oldest first; a type is Added, Updated, Deleted, Replaced or Sync
    store   store.get_by_key(key), store.add(object), store.delete(object or tombstone)
    tell    call it for each delta, after you change the store: tell("delete", key) for Deleted; otherwise
            tell("update", key) if the store already had the key, or tell("add", key) if it did not
    """
    for delta_type, obj in deltas:
        if delta_type == "Added":
            store.add(obj)
            tell("add", key)
        # what about the other types?
'''

_EACH: Final = (
    "The deltas of a key arrive together. Each one changes the store, and is reported to the handlers."
)
_NEW: Final = (
    "The type says how the FIFO learned of an object. To find out whether it is new, ask get_by_key."
)
_FIRST: Final = "Call store.add or store.delete before tell, because a sync can read the store at once."
_TOMBSTONE: Final = (
    "A Deleted can contain a DeletedFinalStateUnknown (without metadata), which store.delete accepts."
)


class _Informer:
    """A real FIFO and store. The reader's function applies the FIFO's deltas to the store."""

    def __init__(self, process: Any) -> None:
        self.store: Indexer[Foo] = Indexer()
        self.fifo: DeltaFIFO[Foo] = DeltaFIFO(self.store)
        self.early = ""
        self._process = process

    def pop(self) -> list[tuple[str, str]]:
        """Let the reader's function process everything queued. Returns: what it told the handlers."""
        told: list[tuple[str, str]] = []

        def process(batch: list[Any]) -> None:
            for deltas, _ in batch:
                first = deltas[0].object
                key = getattr(first, "key", "") or f"default/{first.metadata.name}"
                untold = [None if delta.type is DeltaType.DELETED else delta.object for delta in deltas]

                def tell(what: str, key: str, *, untold: list[Foo | None] = untold) -> None:
                    told.append((what, key))
                    self._look(untold.pop(0) if untold else None, what, key)

                self._process(key, [tuple(delta) for delta in deltas], self.store, tell)

        self.fifo.pop_batch(process)
        return told

    def expect_stored_first(self) -> None:
        """Raise WrongError if a handler was told of a change before the store had it."""
        expect(not self.early, self.early, _FIRST)

    def _look(self, wanted: Foo | None, what: str, key: str) -> None:
        """Check that the store has the wanted object when the reader's function calls tell."""
        stored = self.store.get_by_key(key)
        if stored != wanted and not self.early:
            self.early = f"when you reported {what!r}, the store had {_said(stored)}, not {_said(wanted)}"

    def events(self, *events: tuple[DeltaType, Foo]) -> list[tuple[str, str]]:
        self.fifo.enqueue_batch(events)
        return self.pop()

    def relist(self, *foos: Foo) -> list[tuple[str, str]]:
        listed: Listed[Foo] = Listed()
        for foo in foos:
            listed.take(f"default/{foo.metadata.name}", foo)
        self.fifo.replace(listed)
        return self.pop()


def _foo(name: str, replicas: int) -> Foo:
    return Foo(metadata=ObjectMeta(namespace="default", name=name), spec=FooSpec(replicas=replicas))


def check(load: Load) -> Iterator[str]:
    """See Check."""
    informer = _Informer(load().process)
    a = "default/a"
    told = informer.events((DeltaType.ADDED, _foo("a", 1)), (DeltaType.UPDATED, _foo("a", 2)))
    stored = informer.store.get_by_key(a)
    expect(stored == _foo("a", 2), f"after Added and Updated, the store has {_said(stored)}", _EACH)
    expect(told == [("add", a), ("update", a)], f"after Added and Updated, you reported {told}", _EACH)
    informer.expect_stored_first()
    yield "Added and Updated, which arrived together, reached the store and the handlers in order"
    told = informer.relist(_foo("a", 3))
    expect(told == [("update", a)], f"after a stored Foo was Replaced, you reported {told}", _NEW)
    expect(
        informer.store.get_by_key(a) == _foo("a", 3), "after Replaced, the store still has the old Foo", _NEW
    )
    told = informer.events((DeltaType.ADDED, _foo("a", 4)))
    expect(told == [("update", a)], f"after a stored Foo was Added again, you reported {told}", _NEW)
    informer.fifo.resync()
    told = informer.pop()
    expect(told == [("update", a)], f"after Sync, you reported {told}", _NEW)
    yield "Replaced, a second Added, and Sync of a stored Foo were reported as updates"
    try:
        told = informer.relist()
    except AttributeError as error:
        raise WrongError(f"your function raised for a tombstone: {error}", _TOMBSTONE) from error
    expect(
        told == [("delete", a)], f"after a Deleted delta with a tombstone, you reported {told}", _TOMBSTONE
    )
    expect(informer.store.get_by_key(a) is None, "the store still has a Foo that was deleted", _TOMBSTONE)
    informer.expect_stored_first()
    yield "the tombstone removed the Foo from the store"
    told = informer.events((DeltaType.ADDED, _foo("b", 1)), (DeltaType.DELETED, _foo("b", 1)))
    expect(told == [("add", "default/b"), ("delete", "default/b")], f"in the end, you reported {told}", _EACH)
    expect(not informer.store.list_keys(), "the store still has a Foo that was deleted", _EACH)
    informer.expect_stored_first()
    yield "a Foo that was added and deleted before the pop is gone"


def _said(foo: Foo | None) -> str:
    return "nothing" if foo is None else f"the Foo with {foo.spec.replicas} replicas"


EXERCISE: Final = Exercise(
    "write process(), which applies the deltas of one key to the store and tells the handlers.", START, check
)
