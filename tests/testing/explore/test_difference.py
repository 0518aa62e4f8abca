"""Where two documents differ."""

from __future__ import annotations

from handloop.testing.explore.difference import differences


def test_paths_and_values_are_named() -> None:
    """Conditions by their type, whatever their order; long values cut."""
    old = {"spec": {"replicas": 1, "same": 2}, "conditions": [{"type": "Ready", "status": "False"}]}
    more = {"type": "Other", "status": "True"}
    new = {"spec": {"replicas": 3, "same": 2}, "conditions": [more, {"type": "Ready", "status": "True"}]}
    assert list(differences(old, new)) == [
        f"conditions.Other None -> {more!r}",
        "conditions.Ready.status 'False' -> 'True'",
        "spec.replicas 1 -> 3",
    ]
    assert list(differences({"a": 1}, {"a": "x" * 999})) == [f"a 1 -> '{'x' * 99}..."]
    assert list(differences(old, old)) == []
