from __future__ import annotations

from handloop_learn import ch12_owners
from support.checks.chapters import told


def test_children_go_with_their_owner_in_three_ways() -> None:
    """The order of each way, without a controller; an owner of the same name and another uid is none."""
    end, _ = told(ch12_owners.chapter)
    assert end.histories == {
        "Background": ["the Foo is gone", "the Deployment is gone"],
        "Foreground": [
            "the Foo is being deleted, and waits for foregroundDeletion",
            "the Deployment is being deleted, and waits for foregroundDeletion",
            "the Deployment is gone",
            "the Foo is gone",
        ],
        "Orphan": [
            "the Foo is being deleted, and waits for orphan",
            "the Deployment no longer has an owner",
            "the Foo is gone",
        ],
    }
    assert end.left == []
