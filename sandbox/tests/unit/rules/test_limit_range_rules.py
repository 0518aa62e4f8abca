from __future__ import annotations

from typing import Any

from handloop_sandbox.rules.limit_range_rules import limit_range


def _fields(*limits: dict[str, Any]) -> list[str]:
    return [cause.field for cause in limit_range({"spec": {"limits": list(limits)}}, None, "")]


def test_each_item_is_looked_at() -> None:
    """What is said of each is recorded in the contract tests."""
    good = {"type": "Pod", "max": {"cpu": "1"}}
    assert _fields(good) == []
    wrong = {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}
    assert _fields(good, wrong, good) == ["spec.limits[1].min[cpu]", "spec.limits[2].type"]
