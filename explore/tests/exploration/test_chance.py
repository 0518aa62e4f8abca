"""What is there by chance, or by the time."""

from __future__ import annotations

from typing import Any

from handloop_explore.chance import BY_CHANCE, Chance

GOOD: dict[str, Any] = {
    "Secret n/a": {"data": {"password": "x", "user": "u"}, "list": [{"at": 1}, {"at": 2}]},
    "Job n/a-1700000021": {"spec": {"seed": 1}},
    "Foo n/a": {"spec": {}},
}
TWIN: dict[str, Any] = {
    "Secret n/a": {"data": {"password": "y", "user": "u"}, "list": [{"at": 1}, {"at": 3}]},
    "Job n/a-1731449621": {"spec": {"seed": 2}},
    "Foo n/a": {"spec": {}, "extra": 1},
}
CHANCE = Chance.of([GOOD], [TWIN])


def test_it_is_where_two_undisturbed_runs_differ() -> None:
    """By the plain names of their objects; of a map with other names the whole."""
    assert CHANCE.paths == {
        ("Secret n/a", "data", "password"),
        ("Secret n/a", "list", 1, "at"),
        ("Job n/a-*", "spec", "seed"),
        ("Foo n/a",),
    }
    assert CHANCE.paths_of("Job n/a-1800000000") == [("spec", "seed")]


def test_it_counts_that_it_is_there() -> None:
    """Not what; the original stays as it was."""
    masked = CHANCE.without(GOOD)
    assert masked["Secret n/a"]["data"] == {"password": BY_CHANCE, "user": "u"}
    assert masked["Secret n/a"]["list"] == [{"at": 1}, {"at": BY_CHANCE}]
    assert CHANCE.without({"Secret n/a": {"data": {}}}) == {"Secret n/a": {"data": {}}}
    assert GOOD["Secret n/a"]["data"]["password"] == "x"
