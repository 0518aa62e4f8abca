from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.cluster.rolling_update import (
    MAX_REPLICAS,
    Bounds,
    active,
    bounds_of,
    by_age,
    proportional,
    scaled,
    shrink_old,
    size_of_new,
    total_replicas,
)

_Sizes = list[tuple[str, int]]


def _rs(
    name: str, replicas: int, available: int | None = None, *, age: int = 0, most: int = 0
) -> dict[str, Any]:
    annotations = {MAX_REPLICAS: str(most)} if most else {}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": f"2023-01-01T00:00:{age:02}Z",
            "annotations": annotations,
        },
        "spec": {"replicas": replicas},
        "status": {"availableReplicas": replicas if available is None else available},
    }


def _deployment(replicas: int, surge: int | str, unavailable: int | str) -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


def _sizes(steps: list[Any]) -> _Sizes:
    return [(step.replica_set["metadata"]["name"], step.replicas) for step in steps]


@pytest.mark.parametrize(
    ("value", "total", "up", "expected"),
    [(None, 9, True, 0), (3, 9, True, 3), ("25%", 3, True, 1), ("25%", 3, False, 0), ("100%", 7, False, 7)],
)
def test_percentages_round_as_asked(value: int | str | None, total: int, up: bool, expected: int) -> None:
    """Numbers stand for themselves, percentages are of the total and rounded as asked."""
    assert scaled(value, total, round_up=up) == expected


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (3, "25%", "25%", (3, 1, 0)),
        (10, "25%", "25%", (10, 3, 2)),
        (3, 0, "25%", (3, 0, 1)),  # both 0 after rounding: one may be unavailable
        (0, "25%", "25%", (0, 0, 0)),
        (2, 1, 5, (2, 1, 2)),
    ],
)
def test_bounds_resolve_fenceposts(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int, int]
) -> None:
    """The surge rounds up, unavailability down, and they are never both 0."""
    assert bounds_of(_deployment(replicas, surge, unavailable)) == expected


def test_recreate_has_no_slack() -> None:
    """Without a rolling update there is nothing above and nothing below."""
    assert bounds_of({"spec": {"replicas": 4, "strategy": {"type": "Recreate"}}}) == (4, 0, 0)


@pytest.mark.parametrize(
    ("new", "total", "expected"),
    [(0, 3, 1), (0, 0, 3), (1, 4, 1), (2, 3, 3), (3, 3, 3), (5, 5, 3), (0, 9, 0)],
)
def test_new_replicas_fill_the_room_above(new: int, total: int, expected: int) -> None:
    """The new ReplicaSet grows as far as maxSurge allows. Follows TestNewRSNewReplicas."""
    assert size_of_new(Bounds(3, 1, 0), new=new, total=total) == expected


@pytest.mark.parametrize(
    ("old", "new", "bounds", "expected"),
    [
        ([_rs("a", 3)], _rs("n", 1, 0), Bounds(3, 1, 0), []),
        ([_rs("a", 3)], _rs("n", 1), Bounds(3, 1, 0), [("a", 2)]),
        ([_rs("a", 3)], _rs("n", 1, 0), Bounds(3, 1, 2), [("a", 1)]),
        # unavailable ones go first, even of a younger ReplicaSet
        ([_rs("a", 2, age=1), _rs("b", 2, 0, age=2)], _rs("n", 1), Bounds(3, 1, 1), [("b", 0), ("a", 1)]),
        ([_rs("a", 8, 0)], _rs("n", 2, 0), Bounds(10, 0, 2), []),
        ([_rs("a", 10, 8)], _rs("n", 0), Bounds(10, 0, 2), [("a", 8)]),
        ([_rs("a", 0)], _rs("n", 3), Bounds(3, 1, 0), []),
    ],
)
def test_old_replicas_shrink_within_the_bounds(
    old: list[dict[str, Any]], new: dict[str, Any], bounds: Bounds, expected: _Sizes
) -> None:
    """Unavailable pods go first, then as many as the minimum allows. Follows TestReconcileOldReplicaSets."""
    assert _sizes(shrink_old(bounds, new, old)) == expected


_SIZE = st.integers(0, 20)


@given(
    st.lists(st.tuples(_SIZE, _SIZE), min_size=1, max_size=4),
    st.tuples(_SIZE, _SIZE),
    st.integers(1, 20),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_shrinking_keeps_the_minimum_available(
    old: list[tuple[int, int]], new: tuple[int, int], replicas: int, surge: int, unavailable: int
) -> None:
    """Whatever the sizes, available replicas never fall below the minimum because of a step."""
    bounds = Bounds(replicas, surge, min(unavailable, replicas))
    sets = [_rs(f"o{i}", size, min(size, up), age=i) for i, (size, up) in enumerate(old)]
    newest = _rs("n", new[0], min(new))
    before = sum(rs["status"]["availableReplicas"] for rs in [*sets, newest])
    sizes = {rs["metadata"]["name"]: rs["spec"]["replicas"] for rs in sets}
    for step in shrink_old(bounds, newest, sets):
        assert 0 <= step.replicas < sizes[step.replica_set["metadata"]["name"]]
        sizes[step.replica_set["metadata"]["name"]] = step.replicas
    left = sum(min(sizes[rs["metadata"]["name"]], rs["status"]["availableReplicas"]) for rs in sets)
    assert left + min(new) >= min(before, bounds.least_available)


@pytest.mark.parametrize(
    ("sets", "bounds", "expected"),
    [
        # 5 -> 10 in mid-rollout, maxSurge 2: 12 in all, in proportion to the sizes
        (
            [_rs("a", 4, age=1, most=7), _rs("n", 3, age=2, most=7)],
            Bounds(10, 2, 2),
            [("a", 7), ("n", 5)],
        ),
        ([_rs("a", 5, age=1, most=10), _rs("n", 5, age=2, most=10)], Bounds(4, 0, 2), [("a", 2), ("n", 2)]),
        ([_rs("a", 5, age=1, most=10), _rs("n", 5, age=2, most=10)], Bounds(11, 0, 1), [("n", 6), ("a", 5)]),
        ([_rs("a", 3, age=1, most=4), _rs("n", 1, age=2, most=4)], Bounds(0, 0, 0), [("a", 0), ("n", 0)]),
    ],
)
def test_scaling_in_mid_rollout_is_proportional(
    sets: list[dict[str, Any]], bounds: Bounds, expected: _Sizes
) -> None:
    """A new size is spread by the sizes there are. Follows TestScale."""
    steps = proportional(bounds, sets, status_replicas=total_replicas(sets))
    assert sum(step.replicas for step in steps) == sum(size for _, size in expected)
    assert sorted(_sizes(steps)) == sorted(expected)


@given(st.lists(st.integers(1, 20), min_size=2, max_size=5), st.integers(0, 60), st.integers(0, 5))
def test_proportional_scaling_adds_up(sizes: list[int], replicas: int, surge: int) -> None:
    """
    With any sizes, they sum up to the allowed number afterwards, and none is negative.

    What rounding leaves over is the largest's: where that is more than it has, the next round takes the rest.
    """
    sets = [_rs(f"r{i}", size, age=i, most=sum(sizes)) for i, size in enumerate(sizes)]
    bounds = Bounds(replicas, surge, 0)
    steps = proportional(bounds, sets, status_replicas=sum(sizes))
    allowed = bounds.most if replicas else 0
    left = sum(step.replicas for step in steps) - allowed
    assert left == 0 or (left > 0 and steps[0].replicas == 0)
    assert all(step.replicas >= 0 for step in steps)


def test_the_largest_cannot_give_more_than_it_has() -> None:
    """Four of one, two allowed: every share rounds to nothing, and the first goes, as upstream does it."""
    sets = [_rs(f"r{i}", 1, age=i, most=4) for i in range(4)]
    steps = proportional(Bounds(1, 1, 0), sets, status_replicas=4)
    assert [step.replicas for step in steps] == [0, 1, 1, 1]


def test_order_and_activity() -> None:
    """ReplicaSets sort by age, then name; those without replicas are not active."""
    sets = [_rs("b", 1, age=1), _rs("a", 0, age=1), _rs("c", 2)]
    assert [rs["metadata"]["name"] for rs in by_age(sets)] == ["c", "a", "b"]
    assert [rs["metadata"]["name"] for rs in active(sets)] == ["b", "c"]
