from __future__ import annotations

from handloop_sandbox.storage.state import PastState, State
from handloop_sandbox.storage.store import FIRST_RESOURCE_VERSION, Store
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource


def test_a_store_is_a_state() -> None:
    """The store offers what the API reads."""
    state: State = Store()
    assert state.list(GroupResource("", "pods")) == []
    assert state.compacted == state.resource_version
    assert state.by_uid("x") is None
    assert list(state.group_resources()) == [GroupResource("", "pods")]


_MAPS = GroupResource("", "configmaps")
_PODS = GroupResource("", "pods")


def _object(name: str, **more: object) -> Object:
    return {"metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}", **more}}


def _put(store: Store, obj: Object, kind: GroupResource = _MAPS) -> int:
    transaction = Transaction(store)
    transaction.put(kind, obj)
    store.commit(transaction.changes)
    return store.resource_version


def _delete(store: Store, name: str) -> int:
    transaction = Transaction(store)
    transaction.delete(_MAPS, "n", name)
    store.commit(transaction.changes)
    return store.resource_version


def _names(state: PastState | Store) -> list[str]:
    return [obj["metadata"]["name"] for obj in state.list(_MAPS)]


def test_every_version_is_seen_as_it_was(store: Store) -> None:
    """Created, changed and deleted objects are there, unchanged or gone, by the version."""
    first = _put(store, _object("a"))
    second = _put(store, {**_object("a"), "data": {"k": "v"}})
    third = _put(store, _object("b", ownerReferences=[{"uid": "uid-a"}]))
    fourth = _delete(store, "a")
    seen = {version: _names(PastState(store, version)) for version in (first, second, third, fourth)}
    assert seen == {first: ["a"], second: ["a"], third: ["a", "b"], fourth: ["b"]}
    assert "data" not in (PastState(store, first).get(_MAPS, "n", "a") or {})
    assert "data" in (PastState(store, second).get(_MAPS, "n", "a") or {})
    assert PastState(store, fourth).get(_MAPS, "n", "a") is None


def test_what_follows_from_the_objects_is_of_then_too(store: Store) -> None:
    """Counts, owners, uids, the version and the history."""
    first = _put(store, _object("a"))
    _put(store, _object("b", ownerReferences=[{"uid": "uid-a"}]))
    past, present = PastState(store, first), PastState(store, store.resource_version + 5)
    assert (past.resource_version, present.resource_version) == (first, store.resource_version)
    assert (past.count(_MAPS), present.count(_MAPS)) == (1, 2)
    assert past.by_owner("uid-a") == []
    assert [obj["metadata"]["name"] for _, obj in present.by_owner("uid-a")] == ["b"]
    assert past.by_uid("uid-b") is None
    assert past.by_uid("uid-a") == (_MAPS, past.get(_MAPS, "n", "a"))
    assert past.collection(_MAPS) is past.collection(_MAPS)
    history = past.collection(_MAPS).history
    assert history.end == store.collection(_MAPS).history.position_after(first)
    assert [change.rv for change in history.read(0) or ()] == [first]
    assert list(past.group_resources()) == [_MAPS]


def test_what_is_forgotten_is_shown_as_far_back_as_it_goes(store: Store) -> None:
    """A collection without that much history is shown from where it begins."""
    _put(store, _object("a"))
    newest = _put(store, _object("b"))
    store.expire(_MAPS)
    store.compact(newest)
    past = PastState(store, FIRST_RESOURCE_VERSION)
    assert _names(past) == ["a", "b"]
    assert past.compacted == FIRST_RESOURCE_VERSION
    assert past.count(_PODS) == 0
