from __future__ import annotations

import random

from handloop_sandbox.storage.collection import Collection, History
from handloop_sandbox.storage.stored import Change, ChangeType, Stored, object_key
from handloop_sandbox.wire.resource import GroupResource

_KIND = GroupResource("", "configmaps")


def _stored(name: str, rv: int, namespace: str = "n") -> Stored:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(rv)}
    return Stored({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}, rv)


def _added(name: str, rv: int, namespace: str = "n") -> Change:
    return Change(ChangeType.ADDED, _KIND, new=_stored(name, rv, namespace), old=None)


def test_a_history_keeps_the_last_changes() -> None:
    """A reader that has seen the floor misses nothing; one from before it gets an error."""
    history = History(size=3, floor=100)
    begin = history.end
    for rv in range(101, 107):
        history.append(_added(f"c{rv}", rv))
    assert history.floor == 103
    kept = history.read(history.position_after(103))
    assert kept is not None
    assert [change.rv for change in kept] == [104, 105, 106]
    assert history.read(begin) is None
    assert history.read(history.end) == []


def test_positions_survive_dropped_changes() -> None:
    """A position counts every change ever appended, so a reader's place stays its own."""
    history = History(size=8, floor=0)
    for rv in range(1, 101):
        history.append(_added("c", rv))
        position = history.position_after(rv - 1)
        read = history.read(position)
        assert read is not None
        assert [change.rv for change in read] == [rv]
    assert history.end == 100


def test_forgetting_leaves_no_way_back() -> None:
    """After forget(rv) only a reader that has seen rv can go on."""
    history = History(size=8, floor=0)
    for rv in (1, 2, 3):
        history.append(_added("c", rv))
    history.forget(3)
    assert history.read(history.position_after(3)) == []
    assert history.floor == 3
    assert list(history.newer_than(0)) == []


def test_keys_are_in_the_order_of_etcd() -> None:
    """Lists are sorted by namespace and name as one text, and a namespace is a range of it."""
    collection = Collection(history_size=10, floor=0)
    for rv, (namespace, name) in enumerate([("a", "x"), ("a-b", "x"), ("a", "b"), ("a.c", "x")], 1):
        collection.apply(_added(name, rv, namespace))
    assert collection.keys == ["a-b/x", "a.c/x", "a/b", "a/x"]
    assert collection.select("a") == ["a/b", "a/x"]
    assert collection.select("") == collection.keys
    assert collection.select("z") == []


def test_the_past_can_be_seen() -> None:
    """Whatever happened since, the state at a version is the one that was then."""
    source = random.Random(7)
    collection = Collection(history_size=1000, floor=0)
    states: dict[int, dict[str, int]] = {0: {}}
    for rv in range(1, 200):
        name = f"c{source.randrange(8)}"
        old = collection.objects.get(object_key("n", name))
        if old is None:
            change = _added(name, rv)
        else:
            kind = source.choice([ChangeType.MODIFIED, ChangeType.DELETED])
            change = Change(kind, _KIND, new=_stored(name, rv), old=old)
        collection.apply(change)
        states[rv] = {key: stored.rv for key, stored in collection.objects.items()}
        assert collection.keys == sorted(collection.objects)
    for rv, state in states.items():
        keys, objects = collection.as_of(rv, "")
        assert {key: objects[key].rv for key in keys} == state
        assert keys == sorted(keys)


def test_a_new_beginning_has_a_history_of_its_own() -> None:
    """A redefined kind starts a new history; the old one stays readable for those who hold it."""
    collection = Collection(history_size=10, floor=0)
    collection.apply(_added("a", 1))
    before = collection.history
    collection.begin_again(1)
    collection.apply(_added("b", 2))
    assert [change.rv for change in before.newer_than(0)] == [1]
    assert [change.rv for change in collection.history.newer_than(0)] == [2]
    assert collection.history.floor == 1
