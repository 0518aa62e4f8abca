from __future__ import annotations

import pytest

from handloop.walkthrough.exercise_catalog import EXERCISES
from support.checks.chapters import judged

RIGHT = """
def process(key, deltas, store, tell):
    for delta_type, obj in deltas:
        known = store.get_by_key(key) is not None
        if delta_type == "Deleted":
            store.delete(obj)
            tell("delete", key)
        else:
            store.add(obj)
            tell("update" if known else "add", key)
"""
BY_TYPE = RIGHT.replace("if known else", "if delta_type != 'Added' else")
NEWEST_ONLY = RIGHT.replace("in deltas:", "in deltas[-1:]:")
NO_TOMBSTONE = RIGHT.replace("store.delete(obj)", "obj.metadata.name; store.delete(obj)")
KEEPS = RIGHT.replace("store.delete(obj)", "pass")


def test_a_right_solution() -> None:
    """An informer's processing is right in all that is checked."""
    report = judged(3, RIGHT)
    assert (report.wrong, len(report.right)) == ("", 4)


@pytest.mark.parametrize(
    ("text", "happened", "hint"),
    [
        # as it starts: it handles Added alone
        (EXERCISES[3].start, "the store has the one with 1 replicas", "Each of them changes the store"),
        (BY_TYPE, "after Added of a stored Foo you told [('add'", "Ask the store"),
        (NEWEST_ONLY, "you told [('add', 'default/a')]", "Each of them"),
        (NO_TOMBSTONE, "no attribute 'metadata'", "DeletedFinalStateUnknown"),
        (KEEPS, "the store still has a Foo", "store.delete takes both"),
    ],
)
def test_a_wrong_solution_gets_its_own_hint(text: str, happened: str, hint: str) -> None:
    """What happened, and where to look."""
    report = judged(3, text)
    assert happened in report.wrong
    assert hint in report.hint
