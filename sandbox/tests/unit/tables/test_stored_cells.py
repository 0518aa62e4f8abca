from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handloop_sandbox.tables import stored_cells as stored

_NOW = 0.0
_SELECTOR = (
    "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]"
    "LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
)
Cells = Callable[[dict[str, Any], float], list[Any]]


def _condition(kind: str, status: str, **more: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **more}]}


@pytest.mark.parametrize(
    ("cells", "given", "shown"),
    [
        (
            stored.policy_cells,
            {"spec": {"mutations": [{}, {}], "paramKind": {"apiVersion": "v1", "kind": "A"}}},
            [2, "v1/A"],
        ),
        (stored.policy_binding_cells, {"spec": {"paramRef": {"name": "p"}}}, ["", "*/p"]),
        (
            stored.policy_binding_cells,
            {"spec": {"paramRef": {"name": "p", "namespace": "n"}}},
            ["", "n/p"],
        ),
        (
            stored.policy_binding_cells,
            {
                "spec": {
                    "paramRef": {
                        "selector": {
                            "matchLabels": {"a": "b"},
                            "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
                        }
                    }
                }
            },
            [
                "",
                _SELECTOR,
            ],
        ),
        (
            stored.api_service_cells,
            {"spec": {"service": {"namespace": "n", "name": "s"}}},
            ["n/s", "Unknown"],
        ),
        (
            stored.api_service_cells,
            {"spec": {}, "status": _condition("Available", "False", reason="Gone")},
            ["Local", "False (Gone)"],
        ),
        (stored.component_cells, {}, ["Unknown", "", ""]),
        (stored.component_cells, _condition("Healthy", "True", message="ok"), ["Healthy", "ok", ""]),
        (stored.component_cells, _condition("Healthy", "False", error="e"), ["Unhealthy", "", "e"]),
        (
            stored.driver_cells,
            {"spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}]}},
            [True, False, False, "a,b", False, "<none>"],
        ),
        (
            stored.flow_schema_cells,
            {"spec": {"distinguisherMethod": {"type": "ByUser"}}, "status": _condition("Dangling", "True")},
            ["", 0, "ByUser", "<unknown>", "True"],
        ),
        (
            stored.priority_level_cells,
            {"spec": {"type": "Exempt"}},
            ["Exempt", "<none>", "<none>", "<none>", "<none>"],
        ),
        (stored.address_cells, {}, ["<none>"]),
        (
            stored.claim_cells,
            {"metadata": {"deletionTimestamp": "x"}, "status": {"allocation": {}, "reservedFor": [{}]}},
            ["deleted,allocated,reserved"],
        ),
        (stored.claim_cells, {"status": {"reservedFor": [{}]}}, ["pending"]),
    ],
)
def test_cells(cells: Cells, given: dict[str, Any], shown: list[Any]) -> None:
    """What stands between name and age."""
    assert cells(given, _NOW)[1 : len(shown) + 1] == shown
