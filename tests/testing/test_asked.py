from __future__ import annotations

import pytest

from handloop.testing.asked import Asked


@pytest.mark.parametrize(
    ("asked", "text", "writes"),
    [
        (Asked("patch", "configmaps", "", False, "default", "world"), "patch configmaps default/world", True),
        (Asked("list", "foos/status", "example.com", True), "list foos/status.example.com", False),
        (Asked("delete", "nodes", "", False, name="a"), "delete nodes a", True),
    ],
)
def test_a_request_in_words(asked: Asked, text: str, writes: bool) -> None:
    """Verb, resource with its group, and the object; and whether it may change something."""
    assert str(asked) == text
    assert asked.writes == writes
