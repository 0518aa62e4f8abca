from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.workload_selector import is_everything, matches

_LABELS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "back"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "none", "operator": "In", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
    ],
)
def test_selector_matches_as_the_server_does(selector: dict[str, Any] | None, expected: bool) -> None:
    """Every requirement must hold; an absent key satisfies only the negative operators."""
    assert matches(selector, _LABELS) is expected


def test_empty_selector_is_everything() -> None:
    """Only a selector that is there and asks nothing selects everything."""
    assert is_everything({})
    assert not is_everything(None)
    assert not is_everything({"matchLabels": {"a": "b"}})
    assert matches({}, None)
