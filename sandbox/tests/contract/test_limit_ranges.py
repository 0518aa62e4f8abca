"""What LimitRanges say that contradicts itself, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from support.servers.api_server import APIServer

_CASES: Final[list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("limit_ranges.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", _CASES, ids=[str(index) for index in range(len(_CASES))])
def test_limits_that_contradict_each_other(server: APIServer, namespace: str, case: dict[str, Any]) -> None:
    """Types, names of resources, and amounts above or below each other."""
    path = f"/api/v1/namespaces/{namespace}/limitranges?dryRun=All"
    answer = server.create(path, {"metadata": {"name": "l"}, "spec": {"limits": case["limits"]}})
    assert answer.status == (422 if case["told"] else 201)
    assert sorted(f"{field}: {message}" for _, field, message in _causes(answer.body)) == case["told"]


def _causes(body: dict[str, Any]) -> list[tuple[str, str, str]]:
    causes = (body.get("details") or {}).get("causes") or ()
    return [(cause["reason"], cause["field"], cause["message"]) for cause in causes]
