"""What expressions of policies and of match conditions may name, and the words in which they are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from support.servers.api_server import APIServer, Object

_CASES: Final[list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("policy_expressions.yaml").read_text(encoding="utf-8")
)
_API: Final = "/apis/admissionregistration.k8s.io/v1"
_RULE: Final = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}


def _policy(fragment: Object) -> Object:
    matched = {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": "true"}]}
    return {"metadata": {"name": "probe"}, "spec": matched | fragment}


def _hook(conditions: list[Object]) -> Object:
    hook = {
        "name": "a.b.c",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a.b/c"},
        "matchConditions": conditions,
    }
    return {"metadata": {"name": "probe"}, "webhooks": [hook]}


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["given"])
def test_an_expression_is_taken_or_refused_as_in_a_cluster(server: APIServer, case: dict[str, Any]) -> None:
    """Its syntax, its names, its types, and the type of its result."""
    if "policy" in case:
        answer = server.create(f"{_API}/validatingadmissionpolicies?dryRun=All", _policy(case["policy"]))
    else:
        path = f"{_API}/validatingwebhookconfigurations?dryRun=All"
        answer = server.create(path, _hook(case["conditions"]))
    found = [[cause["field"], cause["message"]] for cause in answer.body.get("details", {}).get("causes", [])]
    assert found == case.get("causes", [])
    assert answer.status == (422 if found else 201)
