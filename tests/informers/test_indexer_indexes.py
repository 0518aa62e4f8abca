"""The indexes of an Indexer: by example, and against a model. The rest of it is in test_indexer.py."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from structlog.testing import capture_logs

from handloop.informers import indexer
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.indexer import Change, Indexer, IndexerConflict, Indexers, IndexFunc, IndexNotFound
from support.threads import Background

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


class Text(NamedTuple):
    """An object."""

    key: str
    text: str = ""


class Store(Indexer[Text]):
    """An Indexer of texts."""

    def __init__(self, indexers: Indexers[Text] | None = None) -> None:
        super().__init__(key_func=lambda obj: obj.key, indexers=indexers)


def texts(objects: Iterable[Text | None]) -> list[str | None]:
    return [None if obj is None else obj.text for obj in objects]


def itself(obj: Text) -> Sequence[str]:
    return [obj.text]


def words(obj: Text) -> Sequence[str]:
    return obj.text.split(",")


def test_deleting_the_last_object_removes_its_value() -> None:
    """STO-10: no empty set is left. Follows TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex."""
    store = Store({"self": itself})
    store.add(Text("key", "value"))
    assert store.list_index_func_values("self") == ["value"]
    store.delete(Text("key"))
    assert store.list_index_func_values("self") == []


def test_deleting_one_of_two_keeps_the_value() -> None:
    """STO-11: the other object stays. Follows TestThreadSafeStoreAddKeepsNonEmptySetPostDeleteFromIndex."""
    store = Store({"self": itself})
    store.add(Text("key", "value"))
    store.add(Text("key2", "value"))
    store.delete(Text("key"))
    assert store.index_keys("self", "value") == ["key2"]


def test_index_with_several_values_per_object() -> None:
    """
    STO-12: after every step each value has exactly its keys.

    Follows TestThreadSafeStoreIndexingFunctionsWithMultipleValues.
    """
    store = Store({"words": words})

    def keys() -> dict[str, list[str]]:
        return {value: store.index_keys("words", value) for value in store.list_index_func_values("words")}

    store.add(Text("key1", "foo"))
    store.add(Text("key2", "bar"))
    assert keys() == {"foo": ["key1"], "bar": ["key2"]}
    store.update(Text("key2", "foo,bar"))
    assert keys() == {"foo": ["key1", "key2"], "bar": ["key2"]}
    store.update(Text("key2", "foo,foo,baz"))
    assert keys() == {"foo": ["key1", "key2"], "baz": ["key2"]}
    store.update(Text("key1", "foo,bar"))
    assert keys() == {"foo": ["key1", "key2"], "bar": ["key1"], "baz": ["key2"]}
    store.delete(Text("key1"))
    assert keys() == {"foo": ["key2"], "baz": ["key2"]}


def test_add_indexers_indexes_what_is_stored() -> None:
    """STO-16: a new index can be asked at once."""
    store = Store({"self": itself})
    store.add(Text("key", "a,b"))
    store.add_indexers({"words": words})
    assert store.index_keys("words", "a") == ["key"]
    assert store.indexers() == {"self": itself, "words": words}


def test_add_indexers_with_a_taken_name_adds_none() -> None:
    """STO-16: the conflict is named, and the new names beside it are not added either."""
    store = Store({"self": itself})
    with pytest.raises(IndexerConflict, match=r"^indexer conflict: self$"):
        store.add_indexers({"words": words, "self": itself})
    assert store.indexers() == {"self": itself}


@pytest.mark.parametrize(
    "lookup",
    [
        lambda store: store.by_index("none", "value"),
        lambda store: store.index("none", Text("key")),
        lambda store: store.index_keys("none", "value"),
    ],
    ids=["by_index", "index", "index_keys"],
)
def test_lookup_in_an_unknown_index(lookup: Callable[[Store], object]) -> None:
    """STO-17: an error that names the index, those that are there, and what to call."""
    words = r"^Index with name none does not exist \(there: \w+(, \w+)*\): add it by add_indexers$"
    with pytest.raises(IndexNotFound, match=words):
        lookup(Store())


def test_values_of_an_unknown_index() -> None:
    """STO-17: none, without an error."""
    assert Store().list_index_func_values("none") == []


def test_index_keys_are_sorted() -> None:
    """The one lookup with an order."""
    store = Store({"self": itself})
    for key in ("c", "a", "d", "b"):
        store.add(Text(key, "value"))
    assert store.index_keys("self", "value") == ["a", "b", "c", "d"]


def test_returned_lists_are_the_callers_own() -> None:
    """Changing one changes nothing in the store."""
    store = Store({"self": itself})
    store.add(Text("key", "value"))
    lists: list[list[Any]] = [
        store.list(),
        store.list_keys(),
        store.by_index("self", "value"),
        store.index("self", Text("another", "value")),
        store.index_keys("self", "value"),
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


def test_apply_returns_what_each_operation_found() -> None:
    """Each sees the ones before it: what an update notification calls old."""
    store = Store()
    changes: list[Change[Text]] = [
        (ADDED, Text("a", "1")),
        (UPDATED, Text("a", "2")),
        (DELETED, Text("a", "3")),
        (DELETED, Text("a", "4")),
        (UPDATED, Text("a", "5")),
    ]
    assert texts(store.apply(changes)) == [None, "1", "2", None, None]
    assert store.get_by_key("a") == Text("a", "5")


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


FUNCTIONS: dict[str, IndexFunc[Text]] = {"letters": letters, "self": itself, "words": words}


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
            assert {value: self.store.index_keys(name, value) for value in found} == expected
            for value, keys in expected.items():
                assert sorted(self.store.by_index(name, value)) == sorted(self.model[key] for key in keys)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
