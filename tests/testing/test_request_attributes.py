from __future__ import annotations

import pytest

from handloop.testing.request_attributes import RequestAttributes


@pytest.mark.parametrize(
    ("asked", "text", "writes"),
    [
        (
            RequestAttributes("patch", "configmaps", "", False, "default", "world"),
            "patch configmaps default/world",
            True,
        ),
        (
            RequestAttributes("list", "foos/status", "example.com", True),
            "list foos/status.example.com",
            False,
        ),
        (RequestAttributes("delete", "nodes", "", False, name="a"), "delete nodes a", True),
    ],
)
def test_a_request_in_words(asked: RequestAttributes, text: str, writes: bool) -> None:
    """Verb, resource with its group, and the object; and whether it may change something."""
    assert str(asked) == text
    assert asked.writes == writes
