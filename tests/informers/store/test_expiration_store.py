from __future__ import annotations

import pytest

from handloop.informers.keys import StoreKeyError
from handloop.informers.store.expiration_store import ExpirationStore, TTLPolicy
from support.fake_clock import FakeClock
from support.plain_items import Item, item_key

TTL = 10.0


def new_store(clock: FakeClock) -> ExpirationStore[Item]:
    return ExpirationStore(item_key, TTLPolicy(TTL, clock))


def test_a_young_entry_is_returned() -> None:
    """STO-18: by object, by key, in the list. Follows TestTTLExpirationBasic."""
    clock = FakeClock()
    store = new_store(clock)
    store.add(Item("a", 1))
    clock.advance(TTL)
    assert store.get(Item("a")) == store.get_by_key("a") == Item("a", 1)
    assert store.list() == [Item("a", 1)]


def test_an_old_entry_is_missing_and_goes() -> None:
    """STO-18: looking at it removes it; list_keys does not look."""
    clock = FakeClock()
    store = new_store(clock)
    store.add(Item("a", 1))
    clock.advance(TTL + 1)
    assert store.list_keys() == ["a"]
    assert store.get(Item("a")) is None
    assert store.list_keys() == []
    assert store.get_by_key("a") is None


def test_list_omits_expired_entries() -> None:
    """STO-18: only the living, and the others go. Follows TestTTLList."""
    clock = FakeClock()
    store = new_store(clock)
    store.add(Item("old", 1))
    clock.advance(TTL / 2)
    store.add(Item("young", 2))
    clock.advance(TTL / 2 + 1)
    assert store.list() == [Item("young", 2)]
    assert store.list_keys() == ["young"]


@pytest.mark.parametrize("method", ["add", "update"])
def test_an_entry_put_in_again_lives_anew(method: str) -> None:
    """STO-19: with a new stamp. Follows TestReAddExpiredItem."""
    clock = FakeClock()
    store = new_store(clock)
    store.add(Item("a", 1))
    clock.advance(TTL + 1)
    getattr(store, method)(Item("a", 2))
    clock.advance(TTL)
    assert store.get_by_key("a") == Item("a", 2)
    clock.advance(1)
    assert store.get_by_key("a") is None


@pytest.mark.parametrize(
    ("ttl", "age", "expired"),
    [(0.0, 1e9, False), (-1.0, 1e9, False), (10.0, 9.0, False), (10.0, 10.0, False), (10.0, 10.5, True)],
)
def test_policy(ttl: float, age: float, expired: bool) -> None:
    """STO-20: 0 never expires; at the time to live not yet, after it yes. Follows TestTTLPolicy."""
    clock = FakeClock(start=5.0)
    policy = TTLPolicy(ttl, clock)
    stamped_at = clock.now()
    clock.advance(age)
    assert policy.is_expired(stamped_at) is expired


def test_delete() -> None:
    """By key; an absent one is no error."""
    store = new_store(FakeClock())
    store.add(Item("a", 1))
    store.delete(Item("a", 9))
    store.delete(Item("a", 9))
    assert store.list_keys() == []


def test_replace_stamps_all_with_one_time() -> None:
    """What was there is gone, what is new lives from now on."""
    clock = FakeClock()
    store = new_store(clock)
    store.add(Item("old", 1))
    clock.advance(TTL)
    store.replace([Item("a", 2), Item("b", 3)])
    clock.advance(TTL)
    assert sorted(store.list()) == [Item("a", 2), Item("b", 3)]
    clock.advance(1)
    assert store.list() == []


def test_an_object_without_a_key_is_refused() -> None:
    """And a replace with one changes nothing."""
    store = new_store(FakeClock())
    store.add(Item("a", 1))
    for call in (store.add, store.update, store.delete, store.get):
        with pytest.raises(StoreKeyError):
            call(Item("bad"))
    with pytest.raises(StoreKeyError):
        store.replace([Item("b"), Item("bad")])
    assert store.list_keys() == ["a"]
