"""
The store of an informer and its indexes: by example, and against a model.

Two of upstream's tests have no subject here: objects are transformed before they are stored, and no key comes
from an index function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.informers import indexer
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.indexer import (
    NAMESPACE_INDEX,
    Change,
    Indexer,
    IndexerConflict,
    Indexers,
    IndexFunc,
    IndexNotFound,
    StoreIndex,
    TransactionError,
    namespace_index_func,
)
from handloop.informers.keys import DeletedFinalStateUnknown, NoMetaError, StoreKeyError
from support.builders.deployments import deployment, names
from support.checks.threads import Background
from support.doubles.plain_items import Item, Keyed
from support.doubles.unspeakable import UNSPEAKABLE

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


def new_store() -> Indexer[Item]:
    return Indexer()


def test_store_operations() -> None:
    """The last value wins, a missing key is no error. Follows TestCache."""
    store = new_store()
    store.add(Item("foo", 1))
    store.add(Item("foo", 2))
    store.update(Item("bar", 3))
    assert store.get(Item("foo")) == Item("foo", 2)
    assert store.get_by_key("bar") == Item("bar", 3)
    assert store.get_by_key("baz") is None
    assert sorted(store.list()) == [Item("bar", 3), Item("foo", 2)]
    assert sorted(store.list_keys()) == ["bar", "foo"]
    assert len(store) == 2
    assert repr(store) == "<Indexer: 2 objects, indexes ->"
    store.delete(Item("foo"))
    store.delete(Item("never there"))
    assert store.list() == [Item("bar", 3)]
    store.replace([Item("a", 1), Item("b", 2), Item("a", 3)], "1")
    assert sorted(store.list()) == [Item("a", 3), Item("b", 2)]


@pytest.mark.parametrize("method", ["add", "update", "delete", "get"])
def test_an_object_without_a_key_is_refused(method: str) -> None:
    """Every operation that needs the key raises an error with the reason."""
    with pytest.raises(
        StoreKeyError, match=r"^couldn't create key for object Item\(key='bad', value=0\): bad key$"
    ):
        getattr(new_store(), method)(Item("bad"))


def test_a_replace_with_a_key_error_changes_nothing() -> None:
    """All keys are computed before anything is stored."""
    store = new_store()
    store.replace([Item("old")], "1")
    with pytest.raises(StoreKeyError):
        store.replace([Item("new"), Item("bad")], "2")
    assert store.list() == [Item("old")]


def test_a_tombstone_deletes_by_its_key() -> None:
    """The default key function knows tombstones; the resource version stays, since theirs is unknown."""
    store: Indexer[Deployment] = Indexer()
    store.add(deployment("a", 5))
    store.delete(DeletedFinalStateUnknown("default/a", deployment("a", 3)))
    assert store.list() == []


def test_transaction_with_bad_objects() -> None:
    """
    Objects without a key are named by their place, the others applied, with what each found.

    Follows TestCacheTransactionShouldIndexErrors, as the next one.
    """
    store = new_store()
    store.add(Item("b", 2))
    with pytest.raises(TransactionError) as raised:
        store.apply([(ADDED, Item("a")), (ADDED, Item("bad")), (UPDATED, Item("b", 4)), (ADDED, Item("bad"))])
    assert {position: type(error) for position, error in raised.value.errors.items()} == {
        1: StoreKeyError,
        3: StoreKeyError,
    }
    assert raised.value.previous == [None, None, Item("b", 2), None]
    assert str(raised.value).startswith(
        "failed to execute (2/4) transactions failed due to: [couldn't create key"
    )
    assert sorted(store.list()) == [Item("a"), Item("b", 4)]


def test_transaction_without_errors() -> None:
    """No error, and what each operation found."""
    store = new_store()
    changes: list[Change[Item]] = [
        (ADDED, Item("a", 1)),
        (UPDATED, Item("a", 2)),
        (DELETED, DeletedFinalStateUnknown("a", None)),
    ]
    tolerant: Indexer[Item] = Indexer()
    assert tolerant.apply(changes) == [None, Item("a", 1), Item("a", 2)]
    assert tolerant.list() == []
    assert store.apply([]) == []


@pytest.mark.parametrize("namespace", ["default", ""])
def test_namespace_index(namespace: str) -> None:
    """Objects by namespace; cluster-scoped ones under ""."""
    store: Indexer[Deployment] = Indexer(indexers={NAMESPACE_INDEX: namespace_index_func})
    store.add(deployment("a", namespace=namespace))
    store.add(deployment("b", namespace="other"))
    assert names(store.by_index(NAMESPACE_INDEX, namespace)) == ["a"]


def test_namespace_index_needs_metadata() -> None:
    """The error of the key functions."""
    with pytest.raises(NoMetaError, match=r"^object has no meta: "):
        namespace_index_func("no object")  # type: ignore[arg-type] # the point


# -- the values of an index


def test_change_to_the_same_values_touches_nothing() -> None:
    """The usual update of an object leaves its index alone: who holds the set of keys sees no change."""
    index: StoreIndex[str] = StoreIndex(str.split)
    index.change("1", None, "a")
    keys = index.keys("a")
    index.change("1", "a", "a")
    assert index.keys("a") is keys


# -- a function that fails


def fussy(obj: str) -> Sequence[str]:
    if obj == "bad":
        raise ArithmeticError("no value")
    return obj.split()


def state(index: StoreIndex[str]) -> dict[str, set[str]]:
    return {value: set(index.keys(value)) for value in index.all_values()}


@pytest.mark.parametrize("error", UNSPEAKABLE, ids=lambda error: type(error).__name__)
def test_an_error_without_words_loses_no_change(error: BaseException) -> None:
    """The informer tells its handlers of each change that the store returns: of those of others, too."""

    def odd(item: Item) -> Sequence[str]:
        if item.key == "mute":
            raise error
        return [item.key]

    store = Indexer(indexers={"odd": odd})
    with capture_logs() as logs:
        assert store.apply([(ADDED, Item("mute", 1)), (ADDED, Item("a", 1))]) == [None, None]
        assert store.apply([(UPDATED, Item("a", 2))]) == [Item("a", 1)]
    assert store.list_keys() == ["mute", "a"]
    assert [line["key"] for line in logs] == ["mute"]
    assert 'index "odd": ' in store.why_unindexed("mute")


@pytest.mark.parametrize("new", ["c", "mute", None])
def test_function_that_begins_to_fail_leaves_no_entry_behind(new: str | None) -> None:
    """A function that is not pure: what the former state was under is found all the same."""
    fails = False

    def fickle(obj: str) -> Sequence[str]:
        if fails and obj != "c":
            raise ArithmeticError("no value")
        return obj.split()

    index = StoreIndex(fickle)
    index.change("1", None, "a b")
    index.change("2", None, "b")
    fails = True
    index.change("1", "a b", new)
    assert state(index) == {"b": {"2"}} | ({"c": {"1"}} if new == "c" else {})


def test_function_is_not_asked_again_about_an_object_on_which_it_failed() -> None:
    """That object is under no value, so there is nothing to look for, in however many values."""
    asked: list[str] = []

    def note(obj: str) -> Sequence[str]:
        asked.append(obj)
        return fussy(obj)

    index = StoreIndex(note)
    index.change("1", None, "bad")
    index.change("1", "bad", "a")
    assert asked == ["bad", "a"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("owner", "the index function returned a string, not a sequence of strings"),
        (None, "'NoneType' object is not iterable"),
        ([["a"]], "unhashable type: 'list'"),
    ],
    ids=["a string", "nothing", "lists"],
)
def test_function_that_returns_no_strings_fails(answer: Any, error: str) -> None:
    """The letters of a string would become values, and other answers would break the store's change."""
    index: StoreIndex[str] = StoreIndex(lambda _: answer)
    index.change("1", None, "a")
    ((key, failure),) = index.take_failures()
    assert (key, str(failure), type(failure)) == ("1", error, TypeError)
    assert (index.failed, index.all_values()) == (1, [])


def test_any_iterable_will_do() -> None:
    """A generator is read once."""
    index = StoreIndex[str](lambda obj: (letter for letter in obj))  # type: ignore[arg-type, return-value] # the point
    index.change("1", None, "ab")
    assert state(index) == {"a": {"1"}, "b": {"1"}}


# -- all indexes


ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


class Text(NamedTuple):
    """An object."""

    key: str
    text: str = ""

    @property
    def metadata(self) -> Keyed:
        return Keyed(self.key)


class Store(Indexer[Text]):
    """An Indexer of texts."""

    def __init__(self, indexers: Indexers[Text] | None = None) -> None:
        super().__init__(indexers=indexers)


def texts(objects: Iterable[Text | None]) -> list[str | None]:
    return [None if obj is None else obj.text for obj in objects]


def itself(obj: Text) -> Sequence[str]:
    return [obj.text]


def parted(obj: Text) -> Sequence[str]:
    return obj.text.split(",")


def test_add_indexers_with_a_taken_name_adds_none() -> None:
    """The conflict is named, and the new names beside it are not added either."""
    store = Store({"self": itself})
    with pytest.raises(IndexerConflict, match=r"^indexer conflict: self$"):
        store.add_indexers({"parted": parted, "self": itself})
    assert store.indexers() == {"self": itself}


@pytest.mark.parametrize(
    "lookup",
    [
        lambda store: store.by_index("none", "value"),
        lambda store: store.index("none", Text("key")),
    ],
    ids=["by_index", "index"],
)
def test_lookup_in_an_unknown_index(lookup: Callable[[Store], object]) -> None:
    """An error that names the index, those that are there, and what to call."""
    parted = r"^Index with name none does not exist \(known: \w+(, \w+)*\): add it with add_indexers$"
    with pytest.raises(IndexNotFound, match=parted):
        lookup(Store())


def test_values_of_an_unknown_index() -> None:
    """None, without an error."""
    assert Store().list_index_func_values("none") == []


def test_returned_lists_are_the_callers_own() -> None:
    """Changing one changes nothing in the store."""
    store = Store({"self": itself})
    store.add(Text("key", "value"))
    lists: list[list[Any]] = [
        store.list(),
        store.list_keys(),
        store.by_index("self", "value"),
        store.index("self", Text("another", "value")),
        store.list_index_func_values("self"),
    ]
    for returned in lists:
        returned.clear()
    assert (texts(store.list()), store.list_keys(), len(store)) == (["value"], ["key"], 1)
    found = store.by_index("self", "value")
    assert found == store.index("self", Text("another", "value")) == [Text("key", "value")]


def no_poison(obj: Text) -> Sequence[str]:
    if obj.text == "poison":
        raise ArithmeticError("poisoned")
    return [obj.text]


WRITES: dict[str, Callable[[Store], object]] = {
    "add": lambda store: store.add(Text("key", "poison")),
    "update": lambda store: store.update(Text("key", "poison")),
    "replace": lambda store: store.replace([Text("key", "poison")]),
    "apply": lambda store: store.apply([(UPDATED, Text("key", "poison"))]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("first", [True, False], ids=["fails first", "fails last"])
def test_an_object_on_which_an_index_function_fails_is_stored(
    write: Callable[[Store], object], first: bool
) -> None:
    """It is in the store and in the other indexes, and in this one not even under what it was before."""
    functions: list[tuple[str, IndexFunc[Text]]] = [("good", itself), ("failing", no_poison)]
    store = Store(dict(reversed(functions) if first else functions))
    store.add(Text("key", "value"))
    with capture_logs() as logs:
        write(store)
        write(store)
    assert texts(store.list()) == ["poison"]
    assert (store.list_index_func_values("good"), store.list_index_func_values("failing")) == (["poison"], [])
    assert store.unindexed() == 1
    assert logs == [
        {
            "event": "Index function failed: the object is in the cache, but not in this index",
            "log_level": "error",
            "index": "failing",
            "key": "key",
            "err": "ArithmeticError('poisoned')",
            "othersLikeIt": 0,
        }
    ]
    store.delete(Text("key"))
    assert (store.unindexed(), store.list_index_func_values("good")) == (0, [])


def test_many_objects_on_which_an_index_function_fails_are_one_line() -> None:
    """A function that fails on all of a cluster's objects does not fill the log with them."""
    store = Store({"failing": no_poison})
    with capture_logs() as logs:
        store.apply([(ADDED, Text(f"key-{number}", "poison")) for number in range(100)])
    assert [(entry["key"], entry["othersLikeIt"]) for entry in logs] == [("key-0", 99)]
    assert store.unindexed() == 100


def test_an_index_is_added_without_the_objects_on_which_it_fails() -> None:
    """As if it had been there before they came: whether a cache is filled yet makes no difference."""
    store = Store()
    store.replace([Text("key", "poison"), Text("other", "fine")])
    with capture_logs() as logs:
        store.add_indexers({"good": itself, "failing": no_poison})
    assert store.list_index_func_values("failing") == ["fine"]
    assert [(entry["index"], entry["key"]) for entry in logs] == [("failing", "key")]


def test_nothing_is_locked_while_the_store_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that blocks does not keep readers waiting."""
    store = Store({"failing": no_poison})
    read: list[list[Text]] = []

    class SlowLog:
        def error(self, *_: object, **__: object) -> None:
            read.append(Background(store.list).result())

    monkeypatch.setattr(indexer, "log", SlowLog())
    store.add(Text("key", "poison"))
    assert read == [[Text("key", "poison")]]


def test_index_hands_on_what_its_function_raises() -> None:
    """The object asked about need not be a stored one."""
    store = Store({"failing": no_poison})
    with pytest.raises(ArithmeticError, match="poisoned"):
        store.index("failing", Text("key", "poison"))


def test_a_reader_never_sees_half_a_transaction() -> None:
    """Two objects that move together are always seen together, in contents and index."""
    store = Store({"self": itself})
    stop = threading.Event()

    def write() -> None:
        for number in range(300):
            store.apply([(ADDED, Text("a", str(number))), (ADDED, Text("b", str(number)))])
        stop.set()

    def read() -> None:
        while not stop.is_set():
            assert len(store.list_index_func_values("self")) <= 1
            assert len(set(texts(store.list()))) <= 1

    store.apply([(ADDED, Text("a", "start")), (ADDED, Text("b", "start"))])
    threads = [Background(read), Background(write)]
    for thread in threads:
        thread.result()


KEYS = st.sampled_from("abcd")
OBJECTS = st.sets(st.sampled_from(["u", "v", "w", "poison"]), max_size=3).map(
    lambda some: ",".join(sorted(some))
)


def letters(obj: Text) -> Sequence[str]:
    if "poison" in obj.text:
        raise ArithmeticError("poisoned")
    return [value for value in obj.text.split(",") if value]


FUNCTIONS: dict[str, IndexFunc[Text]] = {
    "letters": letters,
    "self": itself,
    "parted": parted,
}


def values(function: IndexFunc[Text], obj: Text) -> set[str]:
    """What an index should have of an object: nothing when its function fails."""
    try:
        return set(function(obj))
    except ArithmeticError:
        return set()


class StoreMachine(RuleBasedStateMachine):
    """The model is a dict, and an index is its function over that dict."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, Text] = {}
        self.store = Store()

    @initialize(names=st.sets(st.sampled_from(sorted(FUNCTIONS))))
    def with_indexers(self, names: set[str]) -> None:
        self.store = Store({name: FUNCTIONS[name] for name in names})

    @rule(key=KEYS, obj=OBJECTS)
    def put(self, key: str, obj: str) -> None:
        self.model[key] = Text(key, obj)
        self.store.update(self.model[key])

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.store.delete(Text(key))
        self.model.pop(key, None)

    @rule(items=st.dictionaries(KEYS, OBJECTS))
    def replace(self, items: dict[str, str]) -> None:
        self.model = {key: Text(key, obj) for key, obj in items.items()}
        self.store.replace(self.model.values())

    @rule(changes=st.lists(st.tuples(st.sampled_from(DeltaType), st.builds(Text, KEYS, OBJECTS)), max_size=6))
    def apply(self, changes: list[tuple[DeltaType, Text]]) -> None:
        previous: list[Text | None] = []
        for kind, obj in changes:
            previous.append(self.model.pop(obj.key, None))
            if kind is not DELETED:
                self.model[obj.key] = obj
        assert self.store.apply(changes) == previous

    @rule(name=st.sampled_from(sorted(FUNCTIONS)))
    def add_indexer(self, name: str) -> None:
        if name in self.store.indexers():
            with pytest.raises(IndexerConflict):
                self.store.add_indexers({name: FUNCTIONS[name]})
        else:
            self.store.add_indexers({name: FUNCTIONS[name]})

    @rule(obj=st.builds(Text, KEYS, st.sampled_from(["u", "v,w", "u,v,w"])))
    def look_up(self, obj: Text) -> None:
        for name, function in self.store.indexers().items():
            expected = sorted(
                other for other in self.model.values() if values(function, other) & values(function, obj)
            )
            assert sorted(self.store.index(name, obj)) == expected

    @invariant()
    def holds_the_model(self) -> None:
        assert {key: self.store.get_by_key(key) for key in self.store.list_keys()} == self.model
        assert sorted(self.store.list()) == sorted(self.model.values())
        assert len(self.store) == len(self.model)

    @invariant()
    def counts_what_is_in_no_index(self) -> None:
        poisoned = sum("poison" in obj.text for obj in self.model.values())
        assert self.store.unindexed() == (poisoned if "letters" in self.store.indexers() else 0)

    @invariant()
    def every_index_equals_its_function_over_the_dict(self) -> None:
        for name, function in self.store.indexers().items():
            expected: dict[str, list[str]] = {}
            for key, obj in sorted(self.model.items()):
                for value in values(function, obj):
                    expected.setdefault(value, []).append(key)
            found = self.store.list_index_func_values(name)
            assert sorted(found) == sorted(expected)
            for value, keys in expected.items():
                assert sorted(self.store.by_index(name, value)) == sorted(self.model[key] for key in keys)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
