from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.comparison.endpoint import Answer
from handloop_sandbox.comparison.noise import compared

_UID = "6f0c1d9a-0000-4000-8000-00000000000"


def _differences(own: Any, other: Any) -> list[str]:
    return compared(Answer(200, own, []), Answer(200, other, []))


def _thing(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "g.io/v1", "kind": "Thing", "metadata": {}, **members}


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (
            {"metadata": {"uid": "a", "resourceVersion": "1"}},
            {"metadata": {"uid": "b", "resourceVersion": "2"}},
        ),
        ({"message": f"uid {_UID}1"}, {"message": f"uid {_UID}2"}),
        ({"message": "A is invalid: [b, a]"}, {"message": "A is invalid: [a, b]"}),
        (
            {"message": r'patch: Invalid value: "{\"a\":1,\"uid\":\"b\"}": no'},
            {"message": r'patch: Invalid value: "{\"uid\":\"c\",\"a\":1}": no'},
        ),
        ({"managedFields": [1, 2]}, {"managedFields": [2, 1]}),
        ({"rows": [{"cells": ["a", "1s"]}]}, {"rows": [{"cells": ["a", "2m3s"]}]}),
        (
            {"apiVersion": "apps/v1", "metadata": {}, "status": {"replicas": 1}},
            {"apiVersion": "apps/v1", "metadata": {"managedFields": [{"subresource": "status"}]}},
        ),
    ],
)
def test_noise_is_no_difference(own: Any, other: Any) -> None:
    """Versions, identities, ages, orders, and what controllers write."""
    assert _differences(own, other) == []


@pytest.mark.parametrize(
    ("own", "other", "line"),
    [
        (_thing(spec={"a": 1}), _thing(spec={"a": 2}), "spec.a: 1 here, 2 there"),
        (_thing(spec={"a": 1}), _thing(spec={"a": True}), "spec.a: 1 here, true there"),
        (_thing(spec={"a": 1}), _thing(), 'spec: only here: {"a": 1}'),
        (_thing(), _thing(status={}), "status: only there: {}"),
        (_thing(list=[1, 2]), _thing(list=[1]), "list: [1, 2] here, [1] there"),
        (_thing(list=[1, 2]), _thing(list=[1, 3]), "list[1]: 2 here, 3 there"),
    ],
)
def test_what_differs_has_its_place(own: Any, other: Any, line: str) -> None:
    """Types count, and the status of a custom kind."""
    assert _differences(own, other) == [line]


def test_refusals_and_warnings() -> None:
    """Another status says it all; a warning says where it was given."""
    refused = Answer(422, {"message": "no"}, [])
    assert compared(Answer(201, {"kind": "Thing"}, []), refused) == ["status 201 here, 422 there: Thing / no"]
    assert compared(Answer(200, {}, ["a"]), Answer(200, {}, ["b"])) == [
        "warning only here: a",
        "warning only there: b",
    ]
