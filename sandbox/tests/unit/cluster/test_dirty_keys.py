from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.cluster.dirty_keys import AT_ONCE, DirtyKeys


def test_earliest_time_wins() -> None:
    """A key marked several times comes up once, at the earliest of its times."""
    dirty: DirtyKeys[str] = DirtyKeys()
    for at in (5.0, 3.0, 9.0):
        dirty.mark("a", at)
    assert dirty.next_wake() == 3.0
    assert dirty.take(2.9) == []
    assert dirty.take(3.0) == ["a"]
    assert dirty.take(100.0) == []
    assert dirty.next_wake() is None


def test_moved_key_forgets_earlier_times() -> None:
    """move() puts a key off; its former place is not a wake-up any more."""
    dirty: DirtyKeys[str] = DirtyKeys()
    dirty.mark("a", 1.0)
    dirty.move("a", 7.0)
    assert dirty.next_wake() == 7.0
    assert dirty.take(6.0) == []
    assert dirty.take(7.0) == ["a"]


def test_dropped_key_never_comes_up() -> None:
    """A dropped key is neither taken nor waited for, and can be marked again."""
    dirty: DirtyKeys[str] = DirtyKeys()
    dirty.mark("a", 1.0)
    dirty.drop("a")
    assert (dirty.next_wake(), dirty.take(2.0), len(dirty)) == (None, [], 0)
    dirty.mark("a", 3.0)
    assert dirty.take(3.0) == ["a"]


def test_equal_times_come_in_order_of_asking() -> None:
    """Keys due at the same time are taken in the order they were marked in."""
    dirty: DirtyKeys[str] = DirtyKeys()
    for key in "cab":
        dirty.mark(key, 1.0)
    assert dirty.take(1.0) == ["c", "a", "b"]


def test_one_step_takes_a_bounded_number() -> None:
    """Of many due keys a step takes some, and asks to be called again at once for the rest."""
    dirty: DirtyKeys[int] = DirtyKeys()
    for key in range(AT_ONCE * 2 + 1):
        dirty.mark(key, 1.0)
    sizes = []
    while (wake := dirty.next_wake()) is not None and wake <= 5.0:
        sizes.append(len(dirty.take(5.0)))
    assert sizes == [AT_ONCE, AT_ONCE, 1]


_MARKS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=30)


@given(_MARKS)
def test_agrees_with_a_dictionary_of_minima(marks: list[tuple[str, int]]) -> None:
    """For any marks, the keys come up in the order of each key's least time."""
    dirty: DirtyKeys[str] = DirtyKeys()
    least: dict[str, int] = {}
    for key, at in marks:
        dirty.mark(key, float(at))
        least[key] = min(at, least.get(key, at))
    for now in range(10):
        assert sorted(dirty.take(float(now))) == sorted(k for k, at in least.items() if at == now)
