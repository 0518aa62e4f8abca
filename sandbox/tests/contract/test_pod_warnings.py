"""What a server warns of in pods and templates that it takes: word for word, in its order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from support.servers.api_server import MERGE, APIServer

_CASES: Final[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("pod_warnings.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(autouse=True)
def _account(server: APIServer, namespace: str) -> None:
    """Without one in its namespace no pod is admitted."""
    server.eventually(
        f"/api/v1/namespaces/{namespace}/serviceaccounts/default", lambda answer: answer.status == 200
    )


@pytest.mark.parametrize("what", _CASES)
def test_odd_pods_and_templates_are_warned_of(server: APIServer, namespace: str, what: str) -> None:
    """Of each kind with a template, with the path in it; a pod that is fine gets none."""
    case = _CASES[what]
    made = server.create(f"{case['path'].replace('NAMESPACE', namespace)}?dryRun=All", case["object"])
    assert (made.status, made.warnings) == (201, case["warnings"])


def test_an_update_warns_of_a_changed_spec_alone(server: APIServer, namespace: str) -> None:
    """Not of one that stays, and never of the name."""
    case = _CASES["Deployment"]
    path = case["path"].replace("NAMESPACE", namespace)
    body = {**case["object"], "spec": {**case["object"]["spec"], "replicas": 0}}
    assert len(server.create(path, body).warnings) > 2
    labelled = server.patch(f"{path}/a.b", {"metadata": {"labels": {"x": "y"}}}, MERGE)
    assert (labelled.status, labelled.warnings) == (200, [])
    paused = server.patch(f"{path}/a.b", {"spec": {"paused": True}}, MERGE)
    assert paused.warnings == case["warnings"][1:]


def test_a_negative_period_of_a_pod_is_one_second(server: APIServer, namespace: str) -> None:
    """So there is nothing to warn of."""
    case = _CASES["pod: period"]
    made = server.create(f"{case['path'].replace('NAMESPACE', namespace)}?dryRun=All", case["object"])
    assert made.body["spec"]["terminationGracePeriodSeconds"] == 1
